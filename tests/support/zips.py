"""Zip files whose entries are compressed in any way, written by hand: Debian's Python has no Zstandard.

    from zips import DEFLATED, STORED, ZSTD, pack, write_zip, repack
"""
import ctypes
import struct
import zipfile
import zlib

STORED, DEFLATED, ZSTD = 0, 8, 93
WINDOW_LOG, LEVEL, CONTENT_SIZE = 101, 100, 200  # parameters of libzstd


def zstd(content, level=3, window_log=0):
    """A frame of Zstandard, with a window of 2^window_log bytes if that is given, by the library that assay links."""
    library = ctypes.CDLL("libzstd.so.1")
    for name in ("ZSTD_compressBound", "ZSTD_compress2", "ZSTD_CCtx_setParameter"):
        getattr(library, name).restype = ctypes.c_size_t
    library.ZSTD_createCCtx.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.ZSTD_createCCtx())
    library.ZSTD_CCtx_setParameter(context, LEVEL, level)
    if window_log:
        library.ZSTD_CCtx_setParameter(context, WINDOW_LOG, window_log)
        library.ZSTD_CCtx_setParameter(context, CONTENT_SIZE, 0)  # else that is the window
    room = library.ZSTD_compressBound(ctypes.c_size_t(len(content)))
    out = ctypes.create_string_buffer(room)
    size = library.ZSTD_compress2(context, out, ctypes.c_size_t(room), content, ctypes.c_size_t(len(content)))
    library.ZSTD_freeCCtx(context)
    assert size <= room, "libzstd: %d" % size
    return out.raw[:size]


def pack(content, method):
    """The bytes of an entry."""
    if method == DEFLATED:
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        return packer.compress(content) + packer.flush()
    return zstd(content) if method == ZSTD else content


def write_zip(path, members, method):
    """`members` are contents by name, or (content, its bytes in the file) where those are not what pack() makes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    body, directory = b"", b""
    for name, member in members.items():
        content, packed = member if isinstance(member, tuple) else (member, pack(member, method))
        fields = (method, 0, 0x21, zlib.crc32(content), len(packed), len(content), len(name))
        directory += struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 20, 20, 0, *fields, 0, 0, 0, 0, 0, len(body)) + name.encode()
        body += struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 20, 0, *fields, 0) + name.encode() + packed
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, len(members), len(members), len(directory), len(body), 0)
    path.write_bytes(body + directory + end)


def repack(path, method):
    """Compresses the entries of a zip file in another way."""
    with zipfile.ZipFile(path) as old:
        members = {entry.filename: old.read(entry) for entry in old.infolist()}
    write_zip(path, members, method)
