"""Static files, served by WhiteNoise in front of the synchronous views only."""

from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any

from django.utils.decorators import sync_and_async_middleware
from whitenoise.middleware import WhiteNoiseMiddleware


@sync_and_async_middleware
def static_files(get_response: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """WhiteNoise has no asynchronous form: in front of long polls it would hold a thread, and the same one, for all."""
    if iscoroutinefunction(get_response):
        return get_response
    served: Callable[[Any], Any] = WhiteNoiseMiddleware(get_response)
    return served
