"""TOML: settings, hosts, recipes, sweeps; precedence and origins."""

from console.config.errors import ConfigError
from console.config.load import Config, load_config
from console.config.recipes import RecipeBook, for_host, load_recipes
from console.config.records import HostConfig, Origin, Recipe, Settings, Sweep
from console.config.sweeps import derive, load_sweep

__all__ = [
    "Config",
    "ConfigError",
    "HostConfig",
    "Origin",
    "Recipe",
    "RecipeBook",
    "Settings",
    "Sweep",
    "derive",
    "for_host",
    "load_config",
    "load_recipes",
    "load_sweep",
]
