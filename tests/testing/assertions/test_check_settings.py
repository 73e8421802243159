"""The settings of `check`."""

import pytest

from rightcall import check


def test_a_setting_that_does_not_exist_names_the_nearest() -> None:
    with pytest.raises(TypeError, match="no setting 'mach'; did you mean 'match'"):
        check(["a"], ["a"], mach="exact")  # type: ignore[call-arg]


def test_a_setting_that_is_none_is_as_the_default_says() -> None:
    assert check(["a"], ["a"], match=None, extra=None).passed
