"""Reading .zst files to their end."""

import io
from pathlib import Path
from typing import Any

CHUNK_BYTES = 1 << 20


def open_zstandard(path: Path) -> io.BufferedReader:
    """Open a .zst file for reading its uncompressed bytes."""
    return io.BufferedReader(ZstandardReader(path), CHUNK_BYTES)


class ZstandardReader(io.RawIOBase):
    """The frames of a .zst file, one after the other.

    The package's own reader stops silently after the first frame, and where a file was cut off; either
    would lose text.
    """

    def __init__(self, path: Path) -> None:
        self.file = path.open("rb")
        self.frame = _new_frame()
        self.frame_begun = False
        self.ready = b""

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with uncompressed bytes; 0 at the end of the file.

        Raises:
            EOFError: The file ends inside a frame.
            OSError: The file is no .zst file.
        """
        while not self.ready:
            compressed = self.frame.unused_data or self.file.read(CHUNK_BYTES)
            if self.frame.eof:
                self.frame, self.frame_begun = _new_frame(), False
            if not compressed:
                if self.frame_begun:
                    raise EOFError("the file ends inside a compressed frame")
                return 0
            self.ready = self._decompress(compressed)
        taken = self.ready[: len(buffer)]
        buffer[: len(taken)] = taken
        self.ready = self.ready[len(taken) :]
        return len(taken)

    def close(self) -> None:
        """Close the file."""
        self.file.close()
        super().close()

    def _decompress(self, compressed: bytes) -> bytes:
        import zstandard

        self.frame_begun = True
        try:
            return self.frame.decompress(compressed)
        except zstandard.ZstdError as error:
            raise OSError(str(error)) from error


def _new_frame() -> Any:
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj()
