import json
from pathlib import Path

import pytest

from bakeoff.storage.archive import pack, read_header, read_member, unpack

NAME = "stage/abcd"


@pytest.fixture
def parcel(tmp_path: Path) -> bytes:
    (tmp_path / "below").mkdir()
    (tmp_path / "b.txt").write_bytes(b"bee\n")
    (tmp_path / "below" / "a.bin").write_bytes(bytes(range(256)))
    (tmp_path / "empty").write_bytes(b"")
    return pack(NAME, tmp_path)


def test_gives_back_what_went_in(parcel: bytes) -> None:
    assert unpack(NAME, parcel) == {"b.txt": b"bee\n", "below/a.bin": bytes(range(256)), "empty": b""}


def test_equal_files_make_equal_bytes(parcel: bytes, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for name, content in reversed(unpack(NAME, parcel).items()):
        (other / name).parent.mkdir(exist_ok=True)
        (other / name).write_bytes(content)
    assert pack(NAME, other) == parcel


def test_a_file_is_had_from_the_beginning_alone(parcel: bytes) -> None:
    items = read_header(NAME, parcel)
    assert read_member(items, "b.txt", parcel[: items["b.txt"].end]) == b"bee\n"


def test_a_parcel_that_is_not_whole_is_refused_wherever_it_ends(parcel: bytes) -> None:
    for end in range(len(parcel)):
        with pytest.raises(ValueError, match=r"is no artifact|has a damaged file"):
            unpack(NAME, parcel[:end])


def test_a_changed_byte_is_seen(parcel: bytes) -> None:
    for at in range(parcel.index(b"\n") + 1, len(parcel)):
        changed = parcel[:at] + bytes([parcel[at] ^ 1]) + parcel[at + 1 :]
        with pytest.raises(ValueError, match="has a damaged file"):
            unpack(NAME, changed)


def test_another_artifact_is_refused(parcel: bytes) -> None:
    with pytest.raises(ValueError, match="is another artifact"):
        unpack("stage/other", parcel)


@pytest.mark.parametrize("file", ["../out", "/etc/x", "", "a\\..\\b"])
def test_a_file_that_would_leave_its_folder_is_refused(file: str) -> None:
    header = json.dumps({"artifact": NAME, "files": {file: [0, "00"]}}).encode() + b"\n"
    with pytest.raises(ValueError, match="strange name"):
        unpack(NAME, header)


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"[1]\n", b"{}\n", b'{"artifact": "stage/abcd", "files": [1]}\n', b"\xff\n"]
)
def test_foreign_bytes_are_no_artifact(data: bytes) -> None:
    with pytest.raises(ValueError, match="is no artifact"):
        unpack(NAME, data)
