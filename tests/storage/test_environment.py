"""Settings: the environment before .env before what was recorded; a value is never shown."""

from pathlib import Path

import pytest

from bakeoff.errors import SettingError
from bakeoff.storage import environment
from bakeoff.storage.environment import get_setting, read

NAME = "BAKEOFF_TEST_ONLY"


def test_the_environment_comes_before_the_file_before_the_record(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert get_setting(NAME) is None
    environment.server_env_file().parent.mkdir(parents=True)
    environment.server_env_file().write_text(f"{NAME}=recorded\n")
    assert get_setting(NAME) == "recorded"
    Path(".env").write_text(f"{NAME}=written\n")
    assert get_setting(NAME) == "written"
    monkeypatch.setenv(NAME, "exported")
    assert get_setting(NAME) == "exported"
    monkeypatch.setenv(NAME, "")
    assert get_setting(NAME) == "written"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("KEY=plain", "plain"),
        ("  export KEY = spaced  ", "spaced"),
        ('KEY="with # and spaces"  # said', "with # and spaces"),
        ("KEY='single \"quoted\"'", 'single "quoted"'),
        ("KEY=a=b?c&d", "a=b?c&d"),
        ("KEY=", ""),
    ],
)
def test_lines_of_a_file(tmp_path: Path, line: str, value: str) -> None:
    path = tmp_path / ".env"
    path.write_text(f"# a remark\n\n{line}\n")
    assert read(path) == {"KEY": value}


@pytest.mark.parametrize("line", ["KEY=s3cret spaced", "s3cret", 'KEY="s3cret', "1KEY=s3cret"])
def test_a_bad_line_is_named_and_not_shown(tmp_path: Path, line: str) -> None:
    path = tmp_path / ".env"
    path.write_text(f"A=1\n{line}\n")
    with pytest.raises(SettingError, match="line 2") as caught:
        read(path)
    assert "s3cret" not in str(caught.value)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingError, match="NAME=value"):
        read(path)
