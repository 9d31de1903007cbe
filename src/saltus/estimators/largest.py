"""How many terms a network may have, where that is left to us, and where it is asked for."""

# The default k_max is this, or what keeps the design's columns at half the rows.
DEFAULT_K_MAX = 50
# Where terms choose their inputs, it is as many as one for so many rows, but no more than this, nor than fill a design
# of so many numbers.
ROWS_A_TERM, MOST_TERMS, MOST_NUMBERS = 3, 350, 5e7


def largest_k(
    k_max: int | None, n_rows: int, m_fixed: int, most_columns: int, may_be_hundreds: bool, *, is_part: bool = False
) -> int:
    """Say how many terms of so many columns n_rows distinct rows may have. Of a part of the rows, less than asked for.

    There may be hundreds of terms that choose their inputs.
    """
    if k_max is None and may_be_hundreds:
        n_most = min(MOST_TERMS, int(MOST_NUMBERS / n_rows)) if n_rows else 0
        return min(n_most, max(n_rows // ROWS_A_TERM - m_fixed, 0) // most_columns)
    if k_max is None:
        return min(DEFAULT_K_MAX, max(n_rows // 2 - m_fixed, 0) // most_columns)
    needed = m_fixed + most_columns * k_max + 1
    if is_part:
        return min(int(k_max), max(n_rows - 1 - m_fixed, 0) // most_columns)
    if k_max > 0 and n_rows < needed:
        raise ValueError(
            f"k_max={k_max} with {m_fixed} columns in the linear term needs at least {needed} distinct rows, or the "
            f"residuals vanish; got {n_rows}. Lower k_max, or leave it at None."
        )
    return int(k_max)


def largest_k_of_many(k_max: int | None, n_rows: int, m_fixed: int, most_columns: int, may_be_hundreds: bool) -> int:
    """Do the same for rows that are never all in one design, and of which a search sees a part."""
    most = max(n_rows - 1 - m_fixed, 0) // most_columns
    if k_max is not None:
        return min(int(k_max), most)
    return min(MOST_TERMS, n_rows // ROWS_A_TERM, most) if may_be_hundreds else min(DEFAULT_K_MAX, most)
