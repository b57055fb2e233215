"""NoisyHistogram as scikit-learn knows estimators: a fitted one makes all of its release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from privsieve.methods.estimator import Estimator
from privsieve.methods.histogram.noisy_histogram import HistogramOptions
from privsieve.methods.histogram.released import CountTable, cell_names
from privsieve.public.option import estimator
from privsieve.release import Release


@estimator
class NoisyHistogram(Estimator, HistogramOptions):
    """Count rows over a few columns and the target under differential privacy, once.

    The noisy table is the release.  Counts from 0 on, margins and synthetic rows are made of it
    as often as you like, at no cost.

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(4000.0).reshape(1000, 4) % 97 / 97
    >>> domain = ps.Domain.box(0.0, 1.0, columns=4)
    >>> made = ps.NoisyHistogram(["x0", "x2"], bins=4, epsilon=2, domain=domain)
    >>> made.fit(X, X[:, 2] > 0.5).marginal(["x2", "y"]).shape
    (4, 2)
    >>> sorted(made.sample(100))
    ['x0', 'x2', 'y']
    """

    method = "noisy-histogram"
    way_out = "bounds and classes have to be public facts; give domain=Domain([...])"
    supervised = False

    @classmethod
    def of_release(cls, release: Release) -> Self:
        """The table of a release that was kept, as `ps.load` reads it."""
        CountTable.of(release.body)  # refuses what is no table of counts
        return super().of_release(release)

    @classmethod
    def of(cls, release: Release) -> Self:
        """The same, by its name in version 0.1.0."""
        return cls.of_release(release)

    @property
    def counts_(self) -> npt.NDArray[np.int64]:
        """The whole table: counts from 0 on, an axis for each column and the target."""
        table = self._table()
        return table.marginal([axis.name for axis in table.axes])

    def marginal(self, names: Sequence[str] | str) -> npt.NDArray[np.int64]:
        """Counts over some of the columns: an axis for each, in this order."""
        return self._table().marginal([names] if isinstance(names, str) else names)

    def cells(self, name: str) -> list[str]:
        """What the cells of a column are called, in their order."""
        table = self._table()
        return cell_names(table.axes[table.axis(name)])

    def sample(self, n: int, *, as_frame: bool = False) -> Any:
        """Synthetic rows: a mapping from names to arrays, or a pandas frame.

        They are made of the release alone and cost nothing.  They are drawn with the system's
        randomness, anew at each call.
        """
        # What is drawn from a release is its post-processing: no noise of a mechanism.
        rows = self._table().sample(n, np.random.default_rng())
        if not as_frame:
            return rows
        import pandas as pd

        return pd.DataFrame(rows)

    def _table(self) -> CountTable:
        check_is_fitted(self, "release_")
        return CountTable.of(self.release_.body)
