"""The zip that model files and checkpoints are: one JSON document, and arrays, and nothing that could run.

A file has a member `model.json` and, for each type of number in use, a member such as `float64.npy`: all arrays of that
type, one after the other. The document says what is where: the type, shape and order of each array, and values in the
terms of `saltus.storage.encoding`. A member `blake2b.txt` has the digest of the others.
"""

import hashlib
import io
import json
import math
import os
import stat
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from saltus import __version__
from saltus.families import UserFamily
from saltus.storage.encoding import NUMBERS, Decoder, Encoder, order_of, unique_keys
from saltus.storage.user_families import MissingFamilyError

T = TypeVar("T")

FORMAT_VERSION = 3
# Those before were written by development versions.
OLDEST_VERSION = 3

# In bytes; the directory lists the members of the zip.
LARGEST_FILE, LARGEST_DOCUMENT, LARGEST_DIRECTORY = 2**30, 2**24, 2**16

# A file may unpack to so many bytes, or to so many times its size. Numbers that chains have left are packed by a factor
# of three or so; no more than a third of them are the same over and over.
ALWAYS_UNPACKED, LARGEST_RATIO = 2**25, 32

LONGEST_HEADER = 128  # of a flat array
LONGEST_QUOTE = 200  # of a file, in a message

DOCUMENT, DIGEST = "model.json", "blake2b.txt"
MEMBERS = {name: f"{name}.npy" for name in NUMBERS}

# Every member has this date, so that equal models make equal files.
DATE = (1980, 1, 1, 0, 0, 0)

# The zip ends in a record of 22 bytes, if it has no comment. One of 20 bytes before it would overrule it.
END, END_SIZE, OVERRULING, OVERRULING_SIZE = b"PK\5\6", 22, b"PK\6\7", 20


class FileError(ValueError):
    """A model file that cannot be written or read. The message says why, and what to do."""


def pack(file_format: str, values: Mapping[str, Any], encoder: Encoder) -> bytes:
    """Write encoded values as the bytes of a file of this format."""
    document = {
        "format": file_format,
        "format_version": FORMAT_VERSION,
        "saltus_version": __version__,
        **values,
        "parts": encoder.parts,
        "arrays": [(array.dtype.name, array.shape, order_of(array)) for array in encoder.arrays],
    }
    members = {DOCUMENT: json.dumps(document, allow_nan=False).encode()}
    for name in NUMBERS:
        flat = [array.ravel(order_of(array)) for array in encoder.arrays if array.dtype.name == name]
        if flat:
            members[MEMBERS[name]] = _to_npy(np.concatenate(flat, dtype=_on_disk(name)))
    return _to_zip(members)


def unpack(
    file_format: str,
    file: BinaryIO,
    build: Callable[[Decoder, Mapping[str, Any]], T],
    families: Sequence[UserFamily] = (),
) -> T:
    """Read a file of this format and build what it holds, of families that a user wrote those given.

    Raises FileError for any bytes that are none.
    """
    try:
        with _open_zip(file) as archive:
            document = _read_document(archive, file_format)
            arrays = _cut(_read_numbers(archive), document["arrays"])
        decoder = Decoder(arrays, document["parts"], families)
        built = build(decoder, document)
        decoder.check_that_all_is_used()
        return built
    except FileError:
        raise
    except MissingFamilyError as error:
        raise FileError(str(error)) from None
    except Exception as error:  # there is no end to what hostile bytes make zipfile, json or NumPy raise
        said = str(error) if type(error) in (ValueError, TypeError) else f"{type(error).__name__}: {error}"
        raise FileError(
            f"is damaged, or is no {file_format.removeprefix('saltus ')} file: {_printable(said)}. Save the "
            f"{file_format.removeprefix('saltus ')} again, or get another copy of its file."
        ) from error


def read(
    file_format: str,
    path: str | os.PathLike[str],
    build: Callable[[Decoder, Mapping[str, Any]], T],
    families: Sequence[UserFamily] = (),
) -> T:
    """Do so with the file at a path, which messages then name."""
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        raise FileError(f"{path} is not a file. Give the path of a {file_format.removeprefix('saltus ')} file.")
    with open(path, "rb") as file:
        try:
            return unpack(file_format, file, build, families)
        except FileError as error:
            raise FileError(f"{path} {error}") from error.__cause__


def _on_disk(name: str) -> "np.dtype[Any]":
    return np.dtype(name).newbyteorder("<")


def _to_npy(flat: NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    npy.write_array(stream, flat, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def _to_zip(members: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        contents = {name: content for name, content in members.items() if name != DIGEST}
        for name, content in {**contents, DIGEST: _digest(contents)}.items():
            member = zipfile.ZipInfo(name, DATE)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.create_system, member.external_attr = 3, 0o644 << 16  # a plain file, whatever system wrote it
            archive.writestr(member, content)
    return stream.getvalue()


def _digest(members: Mapping[str, bytes]) -> bytes:
    """Hash names and contents, in the order of the names."""
    digest = hashlib.blake2b(digest_size=32)
    for name in sorted(members):
        digest.update(f"{name} {len(members[name])}\n".encode())
        digest.update(members[name])
    return digest.hexdigest().encode()


def _printable(text: object) -> str:
    """Show what a file said, briefly and without what a terminal would obey."""
    shown = str(text)[:LONGEST_QUOTE]
    return shown if shown.isprintable() else ascii(shown)


def _open_zip(file: BinaryIO) -> zipfile.ZipFile:
    """Open a zip that is no larger than it may be, whatever it says of itself."""
    size = file.seek(0, os.SEEK_END)
    if size > LARGEST_FILE:
        raise FileError(f"has {size} bytes, and model files at most {LARGEST_FILE}. Save a model with fewer draws.")
    file.seek(max(size - END_SIZE - OVERRULING_SIZE, 0))
    before, end = (tail := file.read())[:-END_SIZE], tail[-END_SIZE:]
    if not end.startswith(END) or not end.endswith(b"\0\0") or before.startswith(OVERRULING):
        raise ValueError("it does not end as one does")
    if int.from_bytes(end[12:16], "little") > LARGEST_DIRECTORY:
        raise ValueError("it has too many members")
    archive = zipfile.ZipFile(file)
    names = archive.namelist()
    if len(set(names)) < len(names):
        raise ValueError("two members have one name")
    if any(member.compress_size > size for member in archive.filelist):
        raise ValueError("a member is larger than the file")
    unpacked = sum(member.file_size for member in archive.filelist)
    if unpacked > LARGEST_FILE:
        raise FileError(f"unpacks to {unpacked} bytes, and model files to {LARGEST_FILE} at most. Save fewer draws.")
    if unpacked > max(ALWAYS_UNPACKED, LARGEST_RATIO * size):
        raise ValueError(f"its {size} bytes unpack to {unpacked}")
    return archive


def _read_member(archive: zipfile.ZipFile, name: str, largest: int) -> bytes:
    """Unpack a member, and no more of it than the size it gives; zipfile compares checksums."""
    member = archive.getinfo(name)
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.file_size > largest:
        raise ValueError(f"{name} is packed in another way, or too large")
    with archive.open(member) as stream:
        content = stream.read(member.file_size)
    if len(content) < member.file_size:
        raise ValueError(f"{name} is cut short")
    return content


def _read_document(archive: zipfile.ZipFile, file_format: str) -> dict[str, Any]:
    """Read the JSON; refuse a version that is not known."""
    content = _read_member(archive, DOCUMENT, LARGEST_DOCUMENT)
    document: dict[str, Any] = json.loads(content, object_pairs_hook=unique_keys, parse_constant=_refuse)
    version = document["format_version"]
    if document["format"] != file_format or type(version) is not int or version < 1:
        raise ValueError(f"it calls itself {document['format']!r}, version {version!r}")
    if version > FORMAT_VERSION:
        raise FileError(
            f"has format {_printable(version)}, written by saltus {_printable(document['saltus_version'])}. This is "
            f"saltus {__version__}, which reads formats up to {FORMAT_VERSION}. Install a newer saltus."
        )
    if version < OLDEST_VERSION:
        raise FileError(
            f"has format {version}, written by saltus {_printable(document['saltus_version'])}, a development version. "
            f"This is saltus {__version__}, which reads formats from {OLDEST_VERSION} on. Fit and save again."
        )
    return document


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _read_numbers(archive: zipfile.ZipFile) -> dict[str, NDArray[Any]]:
    """Read the flat array of each type of number; refuse members that are not those which were written."""
    unknown = set(archive.namelist()) - {DOCUMENT, DIGEST, *MEMBERS.values()}
    if unknown:
        raise ValueError(f"it has a member {min(unknown)!r}")
    contents = {
        name: _read_member(archive, name, LARGEST_DOCUMENT if name == DOCUMENT else LARGEST_FILE)
        for name in archive.namelist()
    }
    if contents.pop(DIGEST, b"") != _digest(contents):
        raise ValueError("it was changed after it was written")
    return {name: _from_npy(contents[member], _on_disk(name)) for name, member in MEMBERS.items() if member in contents}


def _from_npy(content: bytes, expected: "np.dtype[Any]") -> NDArray[Any]:
    """Read a flat array of the expected type that is as long as it says."""
    stream = io.BytesIO(content)
    if npy.read_magic(stream) != (1, 0):
        raise ValueError("an array is of another version")
    shape, _, dtype = npy.read_array_header_1_0(stream, LONGEST_HEADER)
    start = stream.tell()
    if dtype != expected or shape != ((len(content) - start) // dtype.itemsize,):
        raise ValueError(f"{len(content) - start} bytes of {expected} call themselves {shape} of {dtype}")
    return np.frombuffer(content, dtype, offset=start)


def _cut(numbers: Mapping[str, NDArray[Any]], table: Iterable[Any]) -> list[NDArray[Any]]:
    """Cut flat arrays into those of a table of types, shapes and orders."""
    used = dict.fromkeys(numbers, 0)
    arrays = []
    for name, shape, order in table:
        if not all(type(size) is int and size >= 0 for size in shape) or order not in ("C", "F"):
            raise ValueError(f"an array has the shape {shape} in the order {order!r}")
        flat = numbers[name][used[name] : used[name] + math.prod(shape)]
        arrays.append(flat.reshape(shape, order=order).astype(name, order=order))
        used[name] += flat.size
    if any(used[name] < flat.size for name, flat in numbers.items()):
        raise ValueError("some numbers belong to no array")
    return arrays
