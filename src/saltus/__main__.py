"""``python -m saltus`` is ``saltus``."""

import sys

from saltus.cli import main

if __name__ == "__main__":
    sys.exit(main())
