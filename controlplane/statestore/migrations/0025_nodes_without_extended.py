"""Nodes no longer keep extended resources, which nothing read."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("statestore", "0024_simulation_change"),
    ]

    operations = [
        migrations.RemoveField(
            model_name="node",
            name="extended",
        ),
    ]
