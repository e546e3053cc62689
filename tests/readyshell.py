"""For processes that others are forked from: what hydractl works out of its functions' signatures before it does
anything, as long as everything else that a short command does."""

import functools

import typer.main

from client.hydractl import app

typer.main.get_command = functools.cache(typer.main.get_command)
typer.main.get_command(app)
