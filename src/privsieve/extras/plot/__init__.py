"""Draw plans and releases with Matplotlib."""

from privsieve.extras.plot.displays import PlanDisplay as PlanDisplay
from privsieve.extras.plot.displays import ReleaseDisplay as ReleaseDisplay
