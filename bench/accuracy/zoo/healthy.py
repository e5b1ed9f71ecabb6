"""healthy.py - a second set of healthy trainings, on other data and by another hand than the first. TRAININGS maps a name to a
function (path, seed)."""
import healthy_digits  # noqa: F401
import healthy_kinds  # noqa: F401
import healthy_parts  # noqa: F401
import healthy_tasks  # noqa: F401
import healthy_eighteenth  # noqa: F401
import healthy_eighteenth_more  # noqa: F401
import healthy_eighth  # noqa: F401
import healthy_eleventh  # noqa: F401
import healthy_fifteenth  # noqa: F401
import healthy_fifth  # noqa: F401
import healthy_fourth  # noqa: F401
import healthy_nineteenth  # noqa: F401
import healthy_twentieth  # noqa: F401
import healthy_twentyfirst  # noqa: F401
import healthy_twentyfirst_more  # noqa: F401
import healthy_ninth  # noqa: F401
import healthy_sixth  # noqa: F401
import healthy_sixteenth  # noqa: F401
import healthy_seventeenth  # noqa: F401
import healthy_seventh  # noqa: F401
import healthy_tenth  # noqa: F401
import healthy_third  # noqa: F401
import healthy_fourteenth  # noqa: F401
import healthy_thirteenth  # noqa: F401
import healthy_twelfth  # noqa: F401
from registry import TRAININGS  # noqa: F401
