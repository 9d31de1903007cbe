"""Lists and shares, in words."""

import numpy as np

from saltus.inspection.document import join_names, join_sizes, percent


def test_lists_and_shares_in_words():
    assert join_names(["a"]) == "a"
    assert join_names(["a", "b", "c"]) == "a, b and c"
    assert join_sizes([9, 1, 2, 5, 6, 7]) == "1, 2, 5 to 7 and 9"
    assert [percent(share) for share in (0.97123, 0.99987, -1e-9, np.nan)] == ["97.1 %", "99.987 %", "0.000 %", "-"]
    assert [percent(share) for share in (0.0, 1.0)] == ["0 %", "100 %"]
