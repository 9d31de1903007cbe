"""``saltus demo``: data with a known truth, a fit, a picture."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from saltus.cli.console import DONE, note
from saltus.cli.options import add_command, add_output, positive, seed
from saltus.cli.outputs import check_output, free_name, still_free

if TYPE_CHECKING:
    from saltus.cli.options import Commands

DEMOS = ("robot-arm", "sinc", "friedman")


def add(commands: "Commands") -> None:
    """Describe the command."""
    parser = add_command(
        commands,
        "demo",
        f"[{' | '.join(DEMOS)}] [-o PICTURE]",
        summary="show what saltus does, on data with a known truth",
        description="robot-arm: repeats the paper's experiment under MDL and AIC, and draws its figure 2.\n"
        "sinc: fits a curve, with a band that widens where data are missing.\n"
        "friedman: finds the five inputs that matter among ten.",
        example="saltus demo sinc --output sinc.png",
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "name", nargs="?", choices=DEMOS, default=DEMOS[0], metavar="NAME", help=f"demo to run: {', '.join(DEMOS)}"
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="CSV",
        help="file with data for robot-arm, with columns x1,x2,y1,y2: 200 rows to train, the last 200 to test "
        "(default: simulated data)",
    )
    add_output(
        parser, "PICTURE", "file to draw the picture into (default: saltus_demo.png, with a number if that exists)"
    )
    parser.add_argument(
        "--iterations", type=positive, metavar="N", help="iterations of each chain (default: as many as the demo needs)"
    )
    parser.add_argument(
        "--chains", type=positive, default=4, metavar="N", help="number of chains (default: %(default)s)"
    )
    parser.add_argument(
        "--seed",
        type=seed,
        default=0,
        metavar="N",
        help="seed of the random numbers; the same seed gives the same model (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    """Make or read the data, fit, print and draw."""
    if options.data is not None and options.name != "robot-arm":
        raise ValueError(f"--data is of the demo robot-arm, not of {options.name}.")
    output = options.output or free_name(Path("saltus_demo.png"))
    check_output(output, force=options.force, inputs=() if options.data is None else (options.data,))
    from saltus.demo import friedman, generate, read_csv, robot_arm, sinc
    from saltus.demo.picture import check_picture

    check_picture(output)
    note("Starting.")
    common = {"n_chains": options.chains, "seed": options.seed, "out": sys.stdout}
    picture = still_free(output, force=options.force)
    if options.name == "robot-arm":
        data = generate(options.seed) if options.data is None else read_csv(options.data)
        robot_arm.run(data, picture, n_iter=options.iterations or 100_000, **common)
    elif options.name == "sinc":
        sinc.run(picture, n_iter=options.iterations or 200_000, **common)
    else:
        friedman.run(picture, n_iter=options.iterations or "auto", **common)
    return DONE
