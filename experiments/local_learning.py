"""What the figures of local learning share: folds, weights, methods, and how good a choice is.

The papers (Yang & Li 2014, Liu 2018) rank columns on nine tenths of a table, train a linear support
vector machine (C = 1) and three nearest neighbours on the best ones, and test on the last tenth.
Each of ten folds is such a tenth once.  Noise is replayed from seeds: these are no releases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

import protocol
from papers.felp import FwellEN
from papers.fwell import algorithm_1
from papers.private_fwell import gamma_noise, printed_sensitivity
from privsieve.errors import ParameterError
from privsieve.kernels.nearest import nearest
from privsieve.local.fwell import margins
from privsieve.local.solver import minimise
from privsieve.methods import plan
from privsieve.noise.streams import replay
from privsieve.public.domain import Domain
from privsieve.rows import open_source
from privsieve.rows.batch import batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privsieve.public.plan import Plan

FOLDS = 10
#: Of these the tuning chooses, as the papers tune lambda: by accuracy on private rows.  Of equally
#: good ones it takes the largest, under which the printed noise is smallest beside the weights.
LAMS = (1.0, 0.1, 0.01, 0.001)
#: Tables of more columns have fewer draws of noise: they take longest, and vary less by draw.
WIDE, WIDE_DRAWS = 1000, 3
#: What a cell holds: accuracy of each classifier, and the share of FWELL's columns.
CLASSIFIERS = ("3NN", "SVM")
#: The papers' names, and the folders of data.
TITLES = {"basehock": "BASEHOCK", "lung_gordon": "Lung (stand-in)", "sonar": "Sonar",
          "soybean": "Soybean", "waveform": "Waveform", "wdbc": "WDBC", "arcene": "Arcene",
          "breast_w": "Breast (Wisconsin)", "breast_cancer": "Breast (Ljubljana)"}


@dataclass(frozen=True)
class Way:
    """How margins become weights; `samples` says whether those of FWELL-EN or of all rows."""

    solve: Callable[[np.ndarray, float], np.ndarray]
    samples: bool = False

    def margins(self, X: np.ndarray, y: np.ndarray, seed: int) -> list[np.ndarray]:
        """Margins of length 1 at most; copies of a row in a sample are rows, as printed."""
        drawn = FwellEN(1.0).samples(len(y), seed) if self.samples else [np.arange(len(y))]
        return [clipped(X[rows], y[rows]) for rows in drawn]

    def weights(self, planned: list[np.ndarray], lam: float) -> np.ndarray:
        """The mean of the samples' weights."""
        return np.mean([self.solve(z, lam) for z in planned], axis=0)


MINIMISER = Way(lambda z, lam: minimise(z, lam).w)
WALK = Way(algorithm_1)
ENSEMBLE, ENSEMBLE_WALK = Way(MINIMISER.solve, samples=True), Way(WALK.solve, samples=True)


@dataclass(frozen=True, eq=False)
class Fold:
    """Nine tenths of a table choose, one tenth tests; what is costly is made once, when asked."""

    name: str
    number: int
    train: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]
    results: dict[Any, Any] = field(default_factory=dict)

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What `make` gives, made at the first asking."""
        if key not in self.results:
            self.results[key] = make()
        return self.results[key]

    def seed(self, *words: object) -> int:
        """A number that the words and the fold decide."""
        return replay(" ".join(map(str, (self.name, self.number, *words)))).key()

    def tuned(self, way: Way) -> tuple[np.ndarray, float]:
        """Weights and their lambda, tuned on a fifth of the training rows: no epsilon pays that."""
        return self.once(way, lambda: self._tuned(way))

    def _tuned(self, way: Way) -> tuple[np.ndarray, float]:
        X, y = self.train
        seed = self.seed("samples")
        learn, judge = train_test_split(np.arange(len(y)), test_size=0.2, random_state=0,
                                        stratify=y)
        inner = way.margins(X[learn], y[learn], seed)
        scores = [sum(accuracies((X[learn], y[learn]), (X[judge], y[judge]),
                                 best(way.weights(inner, lam), tenth(X)))) for lam in LAMS]
        lam = LAMS[int(np.argmax(scores))]
        return way.weights(way.margins(X, y, seed), lam), lam

    def quality(self, columns: np.ndarray) -> list[float]:
        """Accuracy of both classifiers on the tenth, and the share of FWELL's columns."""
        chosen = tuple(sorted(columns.tolist()))
        own = set(best(self.tuned(MINIMISER)[0], len(chosen)).tolist())
        scores = self.once(chosen, lambda: accuracies(self.train, self.test, np.array(chosen)))
        return [*scores, len(own & set(chosen)) / len(chosen)]


#: A fold, an epsilon, a number of columns and a seed give the columns.
Method = Callable[[Fold, str, int, int], np.ndarray]


def folds(name: str, number: int = FOLDS) -> Iterator[Fold]:
    """The first of the ten folds of a table."""
    X, y = protocol.scaled(name)
    cut = protocol.splits(y, 0, FOLDS)
    for i, (train, test) in zip(range(number), cut, strict=False):
        yield Fold(name, i, (np.ascontiguousarray(X[train]), y[train].astype(np.int32)),
                   (X[test], y[test]))


def there(names: tuple[str, ...]) -> list[str]:
    """Those of the tables that can be had."""
    return [name for name in names if name == "wdbc" or (protocol.DATA / name).is_dir()]


def absent(names: tuple[str, ...]) -> str:
    """A sentence on tables that cannot be had."""
    gone = [TITLES[name] for name in names if name not in there(names)]
    return f"Not here, and not measured: {', '.join(gone)}.\n\n" if gone else ""


def clipped(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Margins of the rows; the longer ones are shortened to 1, what keeps most of their signal."""
    z = margins(X, *nearest(np.ascontiguousarray(X), y, "manhattan"))
    return z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1)


def accuracies(train, test, columns: np.ndarray) -> list[float]:
    """Shares of test rows that three nearest neighbours and a linear machine get right."""
    return [float(machine.fit(train[0][:, columns], train[1])
                  .score(test[0][:, columns], test[1]))
            for machine in (KNeighborsClassifier(3), SVC(kernel="linear", C=1))]


def tenth(X: np.ndarray) -> int:
    """A tenth of the columns."""
    return max(1, X.shape[1] // 10)


def best(w: np.ndarray, k: int) -> np.ndarray:
    """The k columns of largest weight; of equal ones the first."""
    return np.argsort(-w, kind="stable")[:k]


def without_noise(way: Way) -> Method:
    """The columns of largest weight: not private."""
    return lambda fold, _epsilon, k, _seed: best(fold.tuned(way)[0], k)


def printed(way: Way) -> Method:
    """The same with the printed noise, for a sensitivity of 2/(lambda n): not private either."""
    def method(fold: Fold, epsilon: str, k: int, seed: int) -> np.ndarray:
        w, lam = fold.tuned(way)
        rate = float(epsilon) / printed_sensitivity(len(fold.train[1]), lam)
        return best(w + gamma_noise(len(w), rate, seed), k)

    return method


def guessed(fold: Fold, _epsilon: str, k: int, seed: int) -> np.ndarray:
    """Columns that no row decides."""
    return np.random.default_rng(seed).permutation(fold.train[0].shape[1])[:k]


class AsItIs:
    """No noise: what a vector is before it meets any."""

    def add(self, values: list[Any], _noise: object) -> list[Any]:
        """The values."""
        return values


def planned(name: str, **options: object) -> Method:
    """A method of the product, with noise that keeps to its epsilon."""
    def method(fold: Fold, epsilon: str, k: int, seed: int) -> np.ndarray:
        X, y = fold.train
        domain = Domain.box(0, 1, columns=X.shape[1], classes=np.unique(y).tolist())
        method_plan = plan(name, domain, k=k, epsilon=epsilon, rows=len(y), allow_weak=True,
                           **options)
        held = fold.once("rows", lambda: list(batches(
            open_source(X, y=y), domain, rows=len(y), entropy=replay(fold.number).bytes)))
        key = (name, repr(options))
        summary = fold.once(key, lambda: method_plan.summarise(held, fold.seed("blocks")))
        if method_plan.kind == "selection":
            return np.array(method_plan.mechanism(summary, replay(seed)))
        return best(fold.once((*key, epsilon, seed), lambda: noisy(fold, method_plan, key, seed)),
                    k)

    return method


def noisy(fold: Fold, planned: Plan, key: tuple[str, str], seed: int) -> np.ndarray:
    """The mechanism's vector; what meets noise at its end only is computed once for all draws."""
    by = planned.mechanism.keywords["by"]
    if not hasattr(by, "add"):
        return np.array(planned.mechanism(fold.results[key], replay(seed)), float)
    exact = fold.once((*key, "exact"),
                      lambda: planned.mechanism(fold.results[key], replay(0), by=AsItIs()))
    return np.array(by.add(exact, replay(seed)), float)


#: Non-private, true, printed; and what no row decides.  In the order of a picture's inks.
METHODS: dict[str, Method] = {
    "FWELL, no noise": without_noise(MINIMISER),
    "BlockFWELL, true noise": planned("block-fwell"),
    "FWELL, printed noise": printed(MINIMISER),
    "Algorithm 1, printed noise": printed(WALK),
    "random columns": guessed,
    "Algorithm 1, no noise": without_noise(WALK),
    "OutputFWELL, true noise": planned("output-fwell"),
}
ENSEMBLES: dict[str, Method] = {
    "FWELL-EN, no noise": without_noise(ENSEMBLE),
    "BlockFWELL, true noise": METHODS["BlockFWELL, true noise"],
    "FELP, printed noise": printed(ENSEMBLE),
    "Algorithm 1 FELP, printed noise": printed(ENSEMBLE_WALK),
    "random columns": guessed,
    "Algorithm 1 EN, no noise": without_noise(ENSEMBLE_WALK),
    "FELP, true noise": planned("felp"),
}


def enough(draws: int, fold: Fold) -> int:
    """Draws of noise for the width of a table."""
    return min(draws, WIDE_DRAWS) if fold.train[0].shape[1] > WIDE else draws


def drawn(fold: Fold, method: tuple[str, Method], epsilon: str, k: int, draws: int) -> list[float]:
    """The mean quality of a method's choices over draws of its noise.

    A seed knows the draw and not k: of one noisy vector the best k columns hold the best k - 1.
    Empty where the product refuses an epsilon: a vector of many numbers would not fit its grid.
    """
    name, choose = method
    many = 1 if noiseless(name) else draws
    try:
        qualities = [fold.quality(choose(fold, epsilon, k, fold.seed(name, epsilon, draw)))
                     for draw in range(many)]
    except ParameterError:
        return []
    return np.mean(qualities, axis=0).tolist()


def noiseless(name: str) -> bool:
    """Whether a method draws nothing."""
    return name.endswith("no noise")


def grid(name: str, epsilons: tuple[str, ...]) -> tuple[str, ...]:
    """The epsilons at which a method is measured: none where they decide nothing."""
    return epsilons if name.endswith("noise") and not noiseless(name) else ("",)


def cell(values: list[float]) -> str:
    """A mean over folds, and its error."""
    return f"{np.mean(values):.3f} ({protocol.corrected_error(values, FOLDS):.3f})"
