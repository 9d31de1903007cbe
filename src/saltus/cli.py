"""The command line. Nothing heavy is imported before a command needs it."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from saltus import __version__


def build_parser() -> argparse.ArgumentParser:
    """Describe the commands."""
    parser = argparse.ArgumentParser(prog="saltus", description="Regression networks that choose their own size.")
    parser.add_argument("--version", action="version", version=f"saltus {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="repeat the paper's experiment, the robot arm",
        description="Fit the robot arm data under MDL and AIC, print the result beside the paper's, and draw the "
        "paper's figure 2.",
        epilog="example: saltus demo --output robot_arm.png",
    )
    demo.add_argument(
        "--data",
        type=Path,
        metavar="CSV",
        help="columns x1,x2,y1,y2; rows 1-200 train, the last 200 test (default: data made by the equations)",
    )
    demo.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("saltus_demo.png"),
        metavar="PICTURE",
        help="where the picture goes (default: %(default)s)",
    )
    demo.add_argument("--iterations", type=_positive, default=100_000, help="of each chain (default: %(default)s)")
    demo.add_argument("--chains", type=_positive, default=4, help="default: %(default)s")
    demo.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code."""
    options = build_parser().parse_args(arguments)
    try:
        _run_demo(options)
    except KeyboardInterrupt:
        print("\nsaltus: interrupted", file=sys.stderr)
        return 130
    except (ValueError, OSError, ImportError) as error:
        print(f"saltus: {error}", file=sys.stderr)
        return 2
    return 0


def _run_demo(options: argparse.Namespace) -> None:
    print("Starting; the first run compiles the kernels, which takes some seconds.", file=sys.stderr, flush=True)
    from saltus import demo

    data = demo.generate(options.seed) if options.data is None else demo.read_csv(options.data)
    demo.run(
        data,
        options.output,
        n_iter=options.iterations,
        n_chains=options.chains,
        seed=options.seed,
        out=sys.stdout,
    )


def _positive(text: str) -> int:
    try:
        value = int(text.replace("_", ""))
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number, 1 or more. Got {text!r}.")
    return value
