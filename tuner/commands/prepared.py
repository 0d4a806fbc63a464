"""A command's question with everything read that it rests on: what is left is to search and to decide."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tuner.commands import batching_options, deployed_options, engine_options, options
from tuner.commands.building_place import building_place
from tuner.errors import TunerError

if TYPE_CHECKING:
    from tuner.cluster.cluster import Cluster
    from tuner.commands.building_place import BuildingPlace
    from tuner.measurements.source import ProfileSource
    from tuner.measurements.store import Store
    from tuner.model import Model
    from tuner.recommendation.batching import BatchingSettings
    from tuner.recommendation.recommendation import Recommendation
    from tuner.recommendation.scored import RecommendSettings
    from tuner.search.study import Trial
    from tuner.traffic.traffic import Traffic


@dataclass(frozen=True, slots=True)
class Prepared:
    """`stored` are the curves that are there already, or why there are none; no place: nothing is built."""

    given: dict[str, Any]
    store: Store
    traffic: Traffic
    stored: ProfileSource | str
    model: Model | None = None
    place: BuildingPlace | None = None

    def decided(self, settings: RecommendSettings) -> Recommendation:
        """The recommendation of the night; where nothing has changed, nothing is searched."""
        from tuner.recommendation.overnight import recommend_overnight

        batching = batching_options.batching_settings(self.given)
        if batching is not None:
            return self._batched(settings, batching)
        wishes = "" if self.place is None else f"{engine_options.wishes(self.given)} {self.place.told}"
        several = self.several_at_once(settings)
        night = deployed_options.night_of(self.given, self.store, self.stored, wishes)
        return recommend_overnight(self.traffic, night, several, lambda: self.searched(several))

    def searched(
        self, settings: RecommendSettings, *, confirms: bool = True
    ) -> tuple[Recommendation, ProfileSource]:
        """The best set that a search finds, and where its curves came from."""
        from tuner.commands.console import progress_bar
        from tuner.recommendation.recommend import recommend as run

        source = self._source(settings)
        with progress_bar("searching", quiet=self.given["quiet"], is_counted=True) as advance:
            found = run(
                self.traffic,
                source,
                settings,
                self.store.url,
                lambda trial, left: advance(trial.number + 1, trial.number + 1 + left, _doing(trial)),
                confirm=getattr(source, "confirm", None) if confirms else None,
            )
        return found, source

    def several_at_once(self, settings: RecommendSettings) -> RecommendSettings:
        """The settings with as many profiles asked for at once as there are GPUs, or as was wished."""
        at_once = self.given["at_once"] or (self.place.at_once if self.place is not None else 1)
        return replace(settings, search=replace(settings.search, at_once=at_once))

    def _batched(self, settings: RecommendSettings, batching: BatchingSettings) -> Recommendation:
        """A recommendation for single requests behind a batcher."""
        from tuner.commands.console import progress_bar
        from tuner.recommendation.recommend_batched import recommend_batched
        from tuner.traffic.reading_arrivals import read_arrivals

        given, source = self.given, self._source(settings)
        batching = batching_options.with_deployed(batching, given, source.model.axes)
        batching = batching_options.with_stored_rates(batching, given, self.store, source)
        arrivals = read_arrivals(options.log_settings(given), source.model, given["latency"])
        with progress_bar("trying batchers", quiet=given["quiet"]) as advance:
            return recommend_batched(
                (self.traffic, arrivals),
                source,
                (self.several_at_once(settings), batching),
                self.store.url,
                (None, lambda done, total: advance(done, total, f"batcher {done} of {total}")),
            )

    def _source(self, settings: RecommendSettings) -> ProfileSource:
        if self.model is not None and self.place is not None:
            given = {**self.given, "builds": settings.search.builds}
            return self.place.source(given, self.model, self.store, self.traffic)
        assert not isinstance(self.stored, str)  # without a place there are curves, or an error before this
        return self.stored


def prepared(given: dict[str, Any], model: Model | None, store: Store, cluster: Cluster | None) -> Prepared:
    """Read the logs, and find out where engines are built or curves are known."""
    from tuner.commands.reading import read_logs
    from tuner.measurements.opening import open_recorded

    can_build = model is not None and given["measurements"] is None
    place = building_place(given, cluster) if can_build else None
    if model is not None and place is not None:
        traffic = read_logs(given, model, cluster)
        return Prepared(
            given, store, traffic, deployed_options.stored_curves(given, store, model), model, place
        )
    try:
        stored = open_recorded(store, given["measurements"], model)
    except TunerError as error:
        if not can_build:
            raise
        raise TunerError(
            f"no GPU {given['device']} answers through NVML to measure on, and {error}; to measure, run on a "
            "machine with an NVIDIA GPU and pip install 'trt-profile-tuner[gpu]'"
        ) from error
    return Prepared(given, store, read_logs(given, stored.model, cluster), stored)


def _doing(trial: Trial) -> str:
    """The profile that was just tried, and the best score so far."""
    best = "" if trial.value is None else f", best {trial.value:.4g} ms"
    return f"opt {trial.profile.opt.short}{best}"
