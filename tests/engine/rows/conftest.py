"""Rows, and how some of them see all."""

import pytest

from tests.engine.rows.examples import make_target, some_rows


@pytest.fixture(scope="package")
def rows():
    return some_rows()


@pytest.fixture(scope="package")
def target(rows):
    return make_target(rows)[0]
