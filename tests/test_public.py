"""What is public, and how it is called: a change of it is a decision, with a line in the changelog.

After such a decision: ``python -m tests.test_public > tests/public.txt``.
"""

import inspect
from functools import partial
from importlib import import_module
from pathlib import Path

EXPECTED = Path(__file__).parent / "public.txt"

# Of these, users know the options; methods are for the library.
OPTIONS_ALONE = ("saltus.Product", "saltus.Radial", "saltus.Ridge")

# Every module whose names users may import, with those names; None: all that it lists in `__all__`.
MODULES = {
    "saltus": None,
    "saltus.datasets": ("make_robot_arm",),
    "saltus.demo": ("PAPER_OPTIONS", "PAPER_PRIORS"),
    "saltus.inspection.formula": ("Formula",),
    "saltus.onnx.export": ("export_onnx", "register_with_skl2onnx"),
    "saltus.plots": None,
    "saltus.testing": None,
}


def describe_public():
    """List public names with their signatures, one a line."""
    lines = []
    for module_name, chosen in MODULES.items():
        module = import_module(module_name)
        for name in sorted(module.__all__ if chosen is None else chosen):
            lines += describe(f"{module_name}.{name}", getattr(module, name))
    return lines


def describe(name, value):
    if inspect.isclass(value):
        bases = ", ".join(base.__name__ for base in value.__bases__ if not base.__name__.startswith("_"))
        members = [] if name in OPTIONS_ALONE else sorted(filter(partial(is_ours, value), dir(value)))
        return [f"{name}{signature(value)} of {bases}", *(each for m in members for each in member_of(name, value, m))]
    if callable(value):
        return [f"{name}{signature(value)}"]
    return [f"{name} is a {type(value).__name__}"]


def is_ours(owner, member):
    """Say whether a member is public and not inherited from another library, such as the requests of metadata."""
    if member.startswith("_") or member.endswith("_request"):
        return False
    home = next(each for each in owner.__mro__ if member in vars(each))
    return home.__module__.startswith("saltus")


def member_of(name, owner, member):
    value = inspect.getattr_static(owner, member)
    if isinstance(value, property):
        return [f"{name}.{member} is a property"]
    plain = getattr(owner, member)
    return [f"{name}.{member}{signature(plain)}"] if callable(plain) else [f"{name}.{member}"]


def signature(value):
    """Write the parameters without types: how a call looks."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):  # classes that are made in C
        return ""
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in found.parameters.values()]
    return str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty))


def test_what_is_public_is_as_it_was_decided():
    assert describe_public() == EXPECTED.read_text("utf-8").splitlines()


def test_every_public_name_is_where_users_look_for_it():
    lines = describe_public()
    for wanted in ("saltus.AnnealedRegressor.fit(self, X, y, sample_weight=None, *, callback=None,", "saltus.load("):
        assert any(line.startswith(wanted) for line in lines)


if __name__ == "__main__":
    print("\n".join(describe_public()))
