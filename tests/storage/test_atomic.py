"""How files are written: whole or not at all, for whom, and what is left of writers that were killed."""

import os
import signal
import stat
import subprocess
import sys

import pytest

from saltus.storage.atomic import BEING_WRITTEN, replacing
from tests.scripts import needs_posix, obey_permissions

pytestmark = needs_posix


def write(path, content=b"new"):
    with replacing(path) as file:
        file.write(content)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_permissions_stay_and_are_never_wider(tmp_path, mode):
    path = tmp_path / "model"
    path.touch()
    path.chmod(mode)
    with replacing(path) as file:
        (being_written,) = tmp_path.glob(BEING_WRITTEN.format("*"))
        assert stat.S_IMODE(being_written.stat().st_mode) == 0o600
        file.write(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_bytes() == b"new"


def test_a_new_file_has_the_usual_permissions(tmp_path):
    write(tmp_path / "model")
    (tmp_path / "plain").touch()
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("model", "plain")}
    assert len(modes) == 1


HANG = """
import sys
from saltus.storage.atomic import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_writer_left_is_swept_and_what_others_write_is_not(tmp_path):
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", HANG, str(tmp_path / name)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for name in ("killed", "alive")
    ]
    for writer in writers:
        assert writer.stdout.readline() == b"writing\n"
    killed, alive = writers
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert len(list(tmp_path.iterdir())) == 2
    write(tmp_path / "model")
    assert len(list(tmp_path.iterdir())) == 2
    alive.communicate(b"")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"model": b"new", "alive": b"half"}


def test_what_only_looks_like_a_file_being_written_stays(tmp_path):
    names = [BEING_WRITTEN.format(name) for name in ("pipe", "link", "folder")]
    os.mkfifo(tmp_path / names[0])
    (tmp_path / names[1]).symlink_to(tmp_path / "elsewhere")
    (tmp_path / names[2]).mkdir()
    write(tmp_path / "model")
    assert {path.name for path in tmp_path.iterdir()} == {*names, "model"}


def test_a_folder_that_cannot_be_written_to_is_said_by_the_name_that_was_given(tmp_path):
    (tmp_path / "folder").mkdir(mode=0o500)
    path = tmp_path / "folder" / "model"
    done = subprocess.run(
        [sys.executable, "-c", HANG, str(path)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=obey_permissions,
    )
    assert done.stderr.endswith(f"PermissionError: [Errno 13] Permission denied: {str(path)!r}\n")
