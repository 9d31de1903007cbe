"""``saltus export``: a model for other programs."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from saltus.cli.console import DONE
from saltus.cli.options import add_command, load_model
from saltus.cli.outputs import check_output, still_free

if TYPE_CHECKING:
    from saltus.cli.options import Commands


def add(commands: "Commands") -> None:
    """Describe the command."""
    parser = add_command(
        commands,
        "export",
        "MODEL --onnx FILE",
        summary="write a model for other programs",
        description="Write a model in ONNX, which predicts without Python.",
        example="saltus export model.saltus --onnx model.onnx",
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", type=Path, metavar="MODEL", help="model file that `saltus fit` wrote")
    parser.add_argument("--onnx", type=Path, required=True, metavar="FILE", help="where the ONNX model goes")
    parser.add_argument("--float32", action="store_true", help="take and give single precision (default: double)")
    parser.add_argument("--force", action="store_true", help="replace a file that exists")


def run(options: argparse.Namespace) -> int:
    """Load and export."""
    check_output(options.onnx, force=options.force, inputs=(options.model,), option="--onnx")
    import numpy as np

    import saltus
    from saltus.inspection.document import one_line

    model = load_model(options.model)
    path = still_free(options.onnx, force=options.force)
    saltus.export_onnx(model, path, dtype=np.float32 if options.float32 else np.float64, overwrite=options.force)
    outputs = " and ".join(model._onnx_outputs)
    notes = model.data_notes_
    print(f"The ONNX model: {path}")
    print(f"  Input X: {', '.join(map(one_line, notes.input_names))}, in this order.")
    print(f"  Output {outputs}: {', '.join(map(one_line, notes.output_names))}.")
    return DONE
