"""Laboratory for revisited Transformer blocks: routings, matched training and analysis."""
