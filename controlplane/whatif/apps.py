from django.apps import AppConfig


class WhatIfConfig(AppConfig):
    name = "controlplane.whatif"
    label = "whatif"
