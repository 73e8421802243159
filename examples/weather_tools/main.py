"""A weather desk: an agent that asks three tools about a city, and a fourth one if it is told to.

There is no model in it and no network. Which tools it calls depends on the input alone, so that its evaluations give
the same verdicts every time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rightcall import traced
from rightcall.running.tracing import mock_tool_span, mockable

Action = Literal["get_weather", "get_forecast", "get_alerts"]


@dataclass(frozen=True)
class Station:
    """What is measured in one city."""

    temperature: float
    condition: str
    humidity: int
    forecast: str
    alerts: tuple[str, ...] = ()


STATIONS = {
    "New York": Station(72.5, "sunny", 60, "Clear until the weekend"),
    "London": Station(15.0, "rainy", 80, "Showers, heavier in the evening", ("Flood watch along the river",)),
    "Tokyo": Station(25.0, "cloudy", 65, "Overcast with mild temperatures"),
    "Paris": Station(18.0, "cloudy", 70, "Cloudy, brighter by noon"),
    "Sydney": Station(22.0, "sunny", 55, "Sunny with a light breeze"),
}


@dataclass(frozen=True)
class WeatherRequest:
    """What the agent is asked: a city, and what to find out about it."""

    city: str
    action: Action = "get_weather"


@dataclass(frozen=True)
class WeatherReport:
    """What the agent answers."""

    city: str
    temperature: float
    condition: str
    humidity: int
    forecast: str | None = None
    alerts: list[str] | None = None


@traced()
@mockable(example_calls=[{"input": {"city": "New York"}, "output": {"temperature": 72.5, "unit": "fahrenheit"}}])
@mock_tool_span
async def get_temperature(city: str) -> dict[str, Any]:
    """The temperature in a city."""
    return {"content": {"temperature": STATIONS[city].temperature, "unit": "fahrenheit"}}


@traced()
@mockable(example_calls=[{"input": {"city": "London"}, "output": {"condition": "rainy"}}])
@mock_tool_span
async def get_weather_condition(city: str) -> dict[str, Any]:
    """Whether it is sunny, cloudy or rainy in a city."""
    return {"content": {"condition": STATIONS[city].condition}}


@traced()
@mockable(example_calls=[{"input": {"city": "Tokyo"}, "output": {"humidity": 65}}])
@mock_tool_span
async def get_humidity(city: str) -> dict[str, Any]:
    """The relative humidity in a city, in percent."""
    return {"content": {"humidity": STATIONS[city].humidity}}


@traced()
@mockable(example_calls=[{"input": {"city": "Sydney"}, "output": {"forecast": "Sunny with a light breeze"}}])
@mock_tool_span
async def get_forecast(city: str) -> dict[str, Any]:
    """What the weather in a city will be."""
    return {"content": {"forecast": STATIONS[city].forecast}}


@traced()
@mockable(example_calls=[{"input": {"city": "Paris"}, "output": {"alerts": []}}])
@mock_tool_span
async def get_alerts(city: str) -> dict[str, Any]:
    """The warnings that are out for a city."""
    return {"content": {"alerts": list(STATIONS[city].alerts)}}


async def main(request: WeatherRequest) -> WeatherReport:
    """Report the weather of a city, with a forecast or with alerts if they are asked for."""
    city = request.city
    temperature = (await get_temperature(city))["content"]["temperature"]
    condition = (await get_weather_condition(city))["content"]["condition"]
    humidity = (await get_humidity(city))["content"]["humidity"]
    forecast = (await get_forecast(city))["content"]["forecast"] if request.action == "get_forecast" else None
    alerts = (await get_alerts(city))["content"]["alerts"] if request.action == "get_alerts" else None
    return WeatherReport(city, temperature, condition, humidity, forecast, alerts)
