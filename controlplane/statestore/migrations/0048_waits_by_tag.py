"""How long jobs of a tag waited, and how much of the memory that they asked for they took."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("statestore", "0047_execs_that_end")]

    operations = [
        migrations.AddField(model_name="usagetag", name=name, field=models.BigIntegerField(db_default=0))
        for name in ("tasks", "waited_s", "peak_memory_mib_s")
    ]
