"""The registry: specs by kind and id, and the families that resolve ids on demand."""

import copy
import fnmatch
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from gem_core.errors import DuplicateIdError, UnknownIdError, near_names
from gem_core.known import install_hint, known_namespaces
from gem_core.modules import is_entry_point, is_file, missing
from gem_core.specs import ENVS, FAMILIES, KINDS, EnvSpec, Family, Kind, Spec

__all__ = ["CORE", "Registry"]

CORE = "gem-core"
"""The source of gem-core's own specs."""
S = TypeVar("S", bound=Spec)


class Registry:
    """Specs by kind and id.

    Args:
        source: The distribution whose specs are added; empty for this program.
        load: Loads the plugins that may have environments of a namespace, or all of them if the
            namespace is empty. It is called before specs are looked up or added.
        explain_unknown: Returns a sentence for the error about an unknown id, such as which
            plugin failed to load.
    """

    def __init__(
        self,
        source: str = "",
        *,
        load: Callable[[str], object] = lambda _: None,
        explain_unknown: Callable[[], str] = lambda: "",
    ) -> None:
        self._specs: dict[str, dict[str, Spec]] = {kind.id: {} for kind in KINDS}
        self._kinds: dict[str, Kind[Any]] = {kind.id: kind for kind in KINDS}
        self._clashes: dict[tuple[str, str], list[str]] = {}
        self._families: dict[str, Family] = {}
        self._source, self._load, self._explain_unknown = source, load, explain_unknown

    def add(self, *specs: Spec | Kind[Any]) -> None:
        """Add specs of any kind, and kinds that may have no specs yet.

        Raises:
            DuplicateIdError: The id is taken, or another kind has the id of the spec's kind.
        """
        for spec in specs:
            if isinstance(spec, Kind):
                self._know(spec)
                continue
            self._load(spec.namespace if spec.kind == ENVS else "")
            sourced = _sourced(spec, spec.source or self._source)
            if (known := self._stored(sourced)) is not sourced:
                raise DuplicateIdError(_clash_message(spec, [known.source, sourced.source]))

    def include(self, part: "Registry") -> list[DuplicateIdError]:
        """Add all that another registry has, such as that of a plugin.

        An id that two distributions register can be used from neither: the error names both. One
        of gem-core stays gem-core's.

        Returns:
            An error for each id that was already taken.
        """
        clashes = []
        for kind in part._kinds.values():  # noqa: SLF001 - of this class
            self._know(kind)
        parts = part._specs.values()  # noqa: SLF001 - of this class
        for spec in [spec for specs in parts for spec in specs.values()]:
            if (known := self._stored(spec)) is not spec:
                sources = sorted([known.source, spec.source])
                clashes.append(DuplicateIdError(_clash_message(spec, sources)))
                if known.source != CORE:
                    self._clashes.setdefault((spec.kind.id, spec.id), sources)
        return clashes

    def namespaces(self) -> set[str]:
        """Return the namespaces of the environments and families that were added."""
        return {one.namespace for one in self._of_kind(ENVS).values()} | {*self._of_kind(FAMILIES)}

    def _of_kind(self, kind: Kind[Any]) -> Mapping[str, Spec]:
        return self._specs.get(kind.id, {})

    def _stored(self, spec: Spec) -> Spec:
        """Store a spec unless its id is taken; return the spec that has the id."""
        self._know(spec.kind)
        return self._specs.setdefault(spec.kind.id, {}).setdefault(spec.id, spec)

    def _know(self, kind: Kind[Any]) -> None:
        known = self._kinds.setdefault(kind.id, kind)
        if known != kind:
            raise DuplicateIdError(f"There are two kinds {kind.id!r}: {known!r} and {kind!r}.")

    def kinds(self) -> list[Kind[Any]]:
        """Return the kinds of specs, sorted by id: those of gem-core, and those that have specs."""
        self._load("")
        return [self._kinds[kind_id] for kind_id in sorted(self._kinds)]

    def kind(self, kind_id: str) -> Kind[Any]:
        """Return the kind of an id, such as ``tools``.

        Raises:
            UnknownIdError: There is none; the message lists all.
        """
        self._load("")
        if kind_id not in self._kinds:
            raise UnknownIdError(
                f"Unknown kind {kind_id!r}.{near_names(kind_id, self._kinds)} There are: "
                f"{', '.join(sorted(self._kinds))}. {install_hint('kind', kind_id)}".rstrip()
            )
        return self._kinds[kind_id]

    def find(self, kind: Kind[S], spec_id: str) -> S:
        """Return the spec of an id.

        Args:
            kind: ``ENVS``, ``TOOLS``, ...
            spec_id: The id; a config path (``game/Wordle-v0``) works as well, and for some kinds an
                entry point (``my_module:MyClass`` or ``./my_file.py:MyClass``). An id of a
                namespace that is known is never taken for one.

        Raises:
            UnknownIdError: There is none, nor a module or file. The message suggests near ids and
                names plugins that failed to load.
            DuplicateIdError: Two distributions registered it.
        """
        if not isinstance(spec_id, str):
            raise UnknownIdError(f"The id of a {kind} is text; got {spec_id!r}.")
        own = self._of_kind(kind).get(spec_id)
        if own is not None and own.source == CORE:
            return own  # type: ignore[return-value]
        namespaces = [_spellings(spec_id)[-1].partition(":")[0]] if kind == ENVS else []
        for namespace in [*namespaces, ""]:
            self._load(namespace)
            if (found := self._looked_up(kind, spec_id)) is not None:
                return found  # type: ignore[return-value]
        written = _spellings(spec_id)[-1]
        if self._may_be_entry_point(kind, written) and not missing(written):
            return kind.of(written)
        raise UnknownIdError(self._unknown_message(kind, spec_id))

    def _may_be_entry_point(self, kind: Kind[Any], written: str) -> bool:
        """Return whether a text may name a module or file, as it does not begin like an id."""
        if not kind.by_entry_point or not is_entry_point(written) or _is_pattern(written):
            return False
        own = {spec.namespace for spec in self._of_kind(kind).values()}
        known = own | (self._of_kind(FAMILIES).keys() if kind == ENVS else set())
        return written.partition(":")[0] not in known | known_namespaces(kind.name)

    def _looked_up(self, kind: Kind[Any], spec_id: str) -> Spec | None:
        known = self._of_kind(kind)
        for candidate in _spellings(spec_id):
            if (kind.id, candidate) in self._clashes:
                sources = self._clashes[kind.id, candidate]
                raise DuplicateIdError(_clash_message(known[candidate], sources))
            if candidate in known:
                return known[candidate]
            if kind == ENVS and (spec := self._from_family(candidate)) is not None:
                return spec
        return None

    def named(self, spec_id: str) -> list[Spec]:
        """Return the specs of all kinds that have an id, or its config path."""
        self._load("")
        ids = _spellings(spec_id)
        found = [specs[one] for specs in self._specs.values() for one in ids if one in specs]
        return found or [spec for one in ids if (spec := self._from_family(one)) is not None]

    def _from_family(self, env_id: str) -> EnvSpec | None:
        namespace, _, rest = env_id.partition(":")
        family = self._family(namespace) if rest else None
        found = family.spec(env_id) if family is not None else None
        return None if found is None else _sourced(found, self._source_of(namespace))

    def _source_of(self, namespace: str) -> str:
        """Return the source of a family, which its specs have too."""
        return self._specs[FAMILIES.id][namespace].source

    def _family(self, namespace: str) -> Family | None:
        spec = self._of_kind(FAMILIES).get(namespace)
        if spec is None:
            return None
        if namespace not in self._families:
            self._families[namespace] = spec.make()
        return self._families[namespace]

    def _unknown_message(self, kind: Kind[Any], spec_id: str) -> str:
        if kind.by_entry_point and is_file(file := spec_id.removesuffix(":")):
            return f"Unknown {kind} {spec_id!r}. Name the class in the file too: '{file}:MyClass'."
        if kind == ENVS:  # a config path is the same id with a slash
            spec_id = spec_id.replace("/", ":", 1) if ":" not in spec_id else spec_id
        is_pattern = _is_pattern(spec_id)
        said = f"No {kind} matches {spec_id!r}." if is_pattern else f"Unknown {kind} {spec_id!r}."
        if hint := install_hint(kind.name, spec_id):
            return f"{said} {hint}"
        ids = [spec.id for spec in self.list(kind)]
        patterns = _patterns(spec_id, ids) if is_pattern else []
        near = near_names(spec_id, patterns) or near_names(spec_id, ids)
        namespace = spec_id.partition(":")[0] + ":"
        listed = [one for one in ids if one.startswith(namespace)] or ids
        if listed is ids and len(namespaces := _namespaces(ids)) > 1:
            listed = [f"{one}:*" for one in namespaces]
        absent = missing(spec_id) if self._may_be_entry_point(kind, spec_id) else ""
        if absent and is_file(spec_id.rpartition(":")[0]):
            near = ""
        elif not near and listed and not absent:
            near = f" There are: {', '.join(listed[:8])}{', ...' if len(listed) > 8 else ''}."
        elif not listed:
            near = f" No {kind} is installed."
        return " ".join(f"{said}{near} {absent} {self._explain_unknown()}".split())

    def matching(self, kind: Kind[S], pattern: str) -> list[S]:
        """Return the specs of a pattern, as ``list`` does, or the one that ``find`` returns.

        Raises:
            UnknownIdError: There is none; the message suggests near patterns and ids.
            DuplicateIdError: Two distributions registered the id.
        """
        return self.list(kind, pattern) or [self.find(kind, pattern)]

    def list(self, kind: Kind[S], pattern: str = "*") -> list[S]:
        """Return the specs of a kind whose id matches a pattern of ``*`` and ``?``, sorted by id.

        Ids that two distributions register are left out, and so are families whose listing fails;
        ``find`` raises the error.
        """
        self._load("")
        families = self._family_specs() if kind == ENVS else ()
        specs: dict[str, Spec] = {spec.id: spec for spec in families}
        specs.update(self._of_kind(kind))
        return [
            spec  # type: ignore[misc]
            for spec_id, spec in sorted(specs.items())
            if fnmatch.fnmatchcase(spec_id, pattern) and (kind.id, spec_id) not in self._clashes
        ]

    def _family_specs(self) -> Iterable[EnvSpec]:
        for namespace in self._of_kind(FAMILIES):
            try:
                family = self._family(namespace)
                ids = list(family.ids()) if family is not None else []
                found = [family.spec(env_id) for env_id in ids] if family is not None else []
            except Exception:  # noqa: BLE001, S112 - a broken family must not hide the other ids
                continue
            source = self._source_of(namespace)
            yield from (_sourced(spec, source) for spec in found if spec is not None)

    def make(self, kind: Kind[Any], spec_id: str, **kwargs: Any) -> Any:
        """Make the object that an id names; it raises as ``find`` and ``Spec.make`` do."""
        return self.find(kind, spec_id).make(**kwargs)


def _sourced(spec: S, source: str) -> S:
    """Return a spec with another source; ``dataclasses.replace`` would check all of it again."""
    copied = copy.copy(spec)
    object.__setattr__(copied, "source", source)
    return copied


def _is_pattern(text: str) -> bool:
    return "*" in text or "?" in text


def _namespaces(ids: Iterable[str]) -> list[str]:
    """Return the namespaces of ids, sorted; none if an id has no namespace."""
    found = {one.rpartition(":")[0] for one in ids}
    return [] if "" in found else sorted(found)


def _patterns(pattern: str, ids: Sequence[str]) -> list[str]:
    """Return a pattern with the namespaces in which it matches an id."""
    rest = pattern.partition(":")[2]
    others = [f"{one}:{rest}" for one in _namespaces(ids)] if rest else [f"*:{pattern}"]
    return [one for one in others if fnmatch.filter(ids, one)]


def _spellings(spec_id: str) -> list[str]:
    """Return an id; for a config path, also the id that it stands for."""
    is_path = "/" in spec_id.partition(":")[0] and not is_file(spec_id.rpartition(":")[0])
    return [spec_id, spec_id.replace("/", ":", 1)] if is_path else [spec_id]


def _clash_message(spec: Spec, sources: Sequence[str]) -> str:
    first, second = (source or "this program" for source in sources)
    if first == second:
        return f"{spec.kind} {spec.id!r} is registered twice by {first}."
    return (
        f"{spec.kind} {spec.id!r} is registered by both {first} and {second}. Uninstall one of "
        f"them, or name the plugins to load in the environment variable GEM_PLUGINS."
    )
