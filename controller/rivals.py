"""Which HPAs' selectors match the same pods (§5.3–5.5), found without comparing every HPA with every pod."""

from collections.abc import Iterable, Mapping

from controller.decide.selectors import Selector


class _Namespace:
    """The registered selectors of one namespace, findable by a label that each of them demands."""

    __slots__ = ("anywhere", "by_label", "selectors")

    def __init__(self) -> None:
        self.selectors: dict[str, Selector | None] = {}
        self.by_label: dict[tuple[str, str], set[str]] = {}
        self.anywhere: set[str] = set()

    def set(self, name: str, selector: Selector | None) -> None:
        if self.selectors.get(name) == selector:
            self.selectors[name] = selector
            return
        self._forget(name)
        self.selectors[name] = selector
        if selector is None:
            return
        labels = _demanded(selector)
        for label in labels:
            self.by_label.setdefault(label, set()).add(name)
        if not labels:
            self.anywhere.add(name)

    def remove(self, name: str) -> None:
        self._forget(name)
        self.selectors.pop(name, None)

    def matching(self, labels: Mapping[str, str]) -> Iterable[str]:
        candidates = set(self.anywhere)
        for label in labels.items():
            candidates |= self.by_label.get(label, set())
        for name in candidates:
            selector = self.selectors[name]
            if selector is not None and selector.matches(labels):
                yield name

    def _forget(self, name: str) -> None:
        selector = self.selectors.get(name)
        if selector is None:
            return
        self.anywhere.discard(name)
        for label in _demanded(selector):
            names = self.by_label[label]
            names.discard(name)
            if not names:
                del self.by_label[label]


class Rivals:
    """The selector that each HPA last used, by namespace.

    An HPA is registered when it is first seen and stays until it is deleted; it counts as a rival only once its own
    sync has stored its selector.
    """

    def __init__(self) -> None:
        self._namespaces: dict[str, _Namespace] = {}

    def register(self, namespace: str, name: str) -> bool:
        """Make an HPA known with a selector that matches nothing; False if it was known already (§3.8)."""
        registered = self._namespaces.setdefault(namespace, _Namespace())
        if name in registered.selectors:
            return False
        registered.set(name, None)
        return True

    def unregister(self, namespace: str, name: str) -> None:
        """Forget a deleted HPA (§3.6)."""
        registered = self._namespaces.get(namespace)
        if registered is not None:
            registered.remove(name)
            if not registered.selectors:
                del self._namespaces[namespace]

    def store(self, namespace: str, name: str, selector: Selector) -> None:
        """Remember the selector an HPA uses, if the HPA is registered (§5.3)."""
        registered = self._namespaces.get(namespace)
        if registered is not None and name in registered.selectors:
            registered.set(name, selector)

    def sharing(self, namespace: str, label_sets: Iterable[Mapping[str, str]]) -> tuple[str, ...]:
        """Keys of all HPAs whose selectors match pods with any of these label sets, sorted (§5.4)."""
        registered = self._namespaces.get(namespace)
        if registered is None:
            return ()
        names = {name for labels in label_sets for name in registered.matching(labels)}
        return tuple(f"{namespace}/{name}" for name in sorted(names))


def _demanded(selector: Selector) -> tuple[tuple[str, str], ...]:
    """Labels of which a matching pod has at least one; none if the selector demands no certain value."""
    for requirement in selector.requirements:
        if requirement.operator in ("=", "in"):
            return tuple((requirement.key, value) for value in requirement.values)
    return ()
