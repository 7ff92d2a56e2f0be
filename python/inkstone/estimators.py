"""Models with the conventions of scikit-learn, which is not imported: parameters in the constructor, `fit` on texts, `transform` or `predict`.

Training is `inkstone train` (see `inkstone.train`). A parameter that is None has the default of its flag there; `times` and `until` are given to
`fit`, so that a model says what it has seen. The model itself is `model_`.
"""

import inspect

from .training import train


class _Estimator:
    """Parameters, training and the tags of scikit-learn."""

    _requires_y = False

    @classmethod
    def _names(cls):
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def _keep(self, given):
        """Keeps the parameters of the constructor."""
        for name in self._names():
            setattr(self, name, given[name])

    def get_params(self, deep=True):
        """The parameters by their names."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params):
        """Sets parameters by their names."""
        for name, value in params.items():
            if name not in self._names():
                raise ValueError(f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {self._names()!r}.")
            setattr(self, name, value)
        return self

    def __repr__(self):
        given = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items() if value is not None)
        return f"{type(self).__name__}({given})"

    def __sklearn_is_fitted__(self):
        return hasattr(self, "model_")

    def __sklearn_tags__(self):
        from sklearn.utils import Tags, InputTags, TargetTags

        inputs = InputTags(one_d_array=True, two_d_array=False, string=True)
        return Tags(estimator_type=self._type, target_tags=TargetTags(required=self._requires_y), input_tags=inputs, no_validation=True)

    def _fit(self, texts, **given):
        self.model_ = train(self._kind, texts, **given, **self.get_params())
        return self

    def _fitted(self):
        if not hasattr(self, "model_"):
            try:
                from sklearn.exceptions import NotFittedError as NotFitted
            except ImportError:
                NotFitted = ValueError
            raise NotFitted(f"this {type(self).__name__} is not fitted yet: call fit first")
        return self.model_


class _Transformer(_Estimator):
    _type = "transformer"

    def fit(self, texts, y=None, *, titles=None, times=None, until=None):
        """Fits the model on texts; `times` are their times of publication, `until` the last time that is read."""
        return self._fit(texts, titles=titles, times=times, until=until)

    def transform(self, texts, titles=None):
        """The rows of texts: a scipy.sparse.csr_matrix of weights of terms, or a numpy.ndarray of vectors, float32 [texts, columns]."""
        return self._fitted().score(texts, titles)

    def fit_transform(self, texts, y=None, **given):
        """Fits the model and gives the rows of its texts."""
        return self.fit(texts, y, **given).transform(texts, given.get("titles"))

    def get_feature_names_out(self, input_features=None):
        """The names of the columns: terms, or numbers of components."""
        import numpy

        return numpy.asarray(self._fitted().columns, dtype=object)


class TfidfVectorizer(_Transformer):
    """TF-IDF weights of words or n-grams; by default as scikit-learn's, on words of jieba without stopwords."""

    _kind = "tfidf"

    def __init__(
        self,
        *,
        ngram_range=None,
        min_df=None,
        max_df=None,
        max_features=None,
        sublinear_tf=None,
        norm=None,
        analyzer=None,
        pos=None,
        formula=None,
        mode=None,
        dict=None,
        stopwords=None,
        threads=None,
    ):
        self._keep(locals())


class CountVectorizer(TfidfVectorizer):
    """Counts of words or n-grams."""

    _kind = "bow"


class Bm25Vectorizer(_Transformer):
    """BM25 weights of words or n-grams."""

    _kind = "bm25"

    def __init__(
        self, *, k1=None, b=None, ngram_range=None, min_df=None, max_df=None, max_features=None, mode=None, dict=None, stopwords=None, threads=None
    ):
        self._keep(locals())


class Lsa(_Transformer):
    """Latent semantic analysis: documents as points of `dim` dimensions."""

    _kind = "lsa"

    def __init__(
        self,
        *,
        dim=None,
        ngram_range=None,
        min_df=None,
        max_df=None,
        max_features=None,
        mode=None,
        dict=None,
        stopwords=None,
        threads=None,
        seed=None,
    ):
        self._keep(locals())


class Word2Vec(_Transformer):
    """word2vec, CBOW or with `sg` skip-gram; a text is the mean of the vectors of its words. `model_.nearest(words)` gives neighbours."""

    _kind = "word2vec"

    def __init__(self, *, dim=None, window=None, epochs=None, negative=None, min_count=None, sg=None, mode=None, dict=None, threads=None, seed=None):
        self._keep(locals())


class Surprise(_Transformer):
    """An n-gram language model; a text gets its log-probability and perplexity, a `Frame` a column each."""

    _kind = "ngram"

    def __init__(self, *, order=None, mode=None, dict=None, threads=None):
        self._keep(locals())


class LogisticRegression(_Estimator):
    """Logistic regression on TF-IDF weights of the texts' terms. `C` may be a list, of which cross-validation chooses."""

    _kind, _type, _requires_y = "logistic", "classifier", True

    def __init__(
        self,
        *,
        C=None,
        l1_ratio=None,
        class_weight=None,
        calibrate=None,
        cv=None,
        cv_by=None,
        label_days=None,
        embargo=None,
        ngram_range=None,
        min_df=None,
        max_features=None,
        mode=None,
        dict=None,
        stopwords=None,
        threads=None,
        seed=None,
    ):
        self._keep(locals())

    def fit(self, texts, y, *, titles=None, times=None, until=None):
        """Fits the model on texts and their classes."""
        import numpy

        y = numpy.asarray(y)
        self.classes_ = numpy.unique(y)
        return self._fit(texts, labels=y.tolist(), titles=titles, times=times, until=until)

    def predict_proba(self, texts, titles=None):
        """The probability of each class, numpy.ndarray [texts, classes] in the order of `classes_`."""
        import numpy

        frame = self._fitted().score(texts, titles)
        return numpy.array([frame[f"p:{name}"].to_list() for name in self.classes_.tolist()], dtype=float).T

    def predict(self, texts, titles=None):
        """The likeliest class of each text, numpy.ndarray [texts]."""
        return self.classes_[self.predict_proba(texts, titles).argmax(axis=1)]

    def score(self, texts, y):
        """The share of texts whose class is predicted."""
        import numpy

        return float((self.predict(texts) == numpy.asarray(y)).mean())


class _Regressor(_Estimator):
    _type, _requires_y = "regressor", True

    def fit(self, texts, y, *, titles=None, times=None, until=None):
        """Fits the model on texts and their values, such as returns."""
        return self._fit(texts, values=y, titles=titles, times=times, until=until)

    def predict(self, texts, titles=None):
        """The value of each text, numpy.ndarray [texts]; NaN for None."""
        import numpy

        return numpy.array(self._fitted().score(texts, titles)[self._column].to_list(), dtype=float)

    def score(self, texts, y):
        """The coefficient of determination, R2."""
        import numpy

        y = numpy.asarray(y, dtype=float)
        return float(1 - ((y - self.predict(texts)) ** 2).sum() / ((y - y.mean()) ** 2).sum())


class Ridge(_Regressor):
    """Ridge regression of a value on TF-IDF weights of the texts' terms. `alpha` may be a list, of which cross-validation chooses."""

    _kind, _column = "ridge", "value"

    def __init__(
        self,
        *,
        alpha=None,
        cv=None,
        cv_by=None,
        label_days=None,
        embargo=None,
        ngram_range=None,
        min_df=None,
        max_features=None,
        mode=None,
        dict=None,
        stopwords=None,
        threads=None,
        seed=None,
    ):
        self._keep(locals())


class Sestm(_Regressor):
    """The tone of texts from the returns around them (Ke, Kelly and Xiu, Predicting Returns with Text Data): from 0 to 1."""

    _kind, _column = "sestm", "p"

    def __init__(self, *, words=None, kappa=None, lambda_=None, validation=None, mode=None, dict=None, stopwords=None, threads=None):
        self._keep(locals())


class PurgedTimeSplit:
    """Folds of cross-validation by time, for scikit-learn's `cv=`: each tests on a stretch of time and trains on the rows of the others, without
    those whose label overlaps the stretch, and without those that begin within the embargo after it (Lopez de Prado 2018, ch. 7).

    n_splits      number of folds
    label_days    natural days from a row's time to the moment when its label is known
    embargo_days  natural days after a stretch in which no training row may begin
    """

    def __init__(self, n_splits=5, *, label_days=0, embargo_days=0):
        self.n_splits, self.label_days, self.embargo_days = n_splits, label_days, embargo_days

    def __repr__(self):
        return f"PurgedTimeSplit({self.n_splits}, label_days={self.label_days}, embargo_days={self.embargo_days})"

    def get_n_splits(self, X=None, y=None, groups=None):
        return self.n_splits

    def split(self, X, y=None, groups=None):
        """Pairs of numpy arrays: numbers of the rows that train, and of those that test. `groups` are the times of the rows."""
        import numpy

        from . import _native

        if groups is None:
            raise ValueError("PurgedTimeSplit needs the times of the rows: give them as groups")
        for train_rows, test_rows in _native.time_folds(groups, self.n_splits, self.label_days, self.embargo_days):
            yield numpy.array(train_rows, dtype=int), numpy.array(test_rows, dtype=int)
