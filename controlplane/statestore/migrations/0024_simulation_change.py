"""What a simulated policy changes, in words."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("statestore", "0023_drains_simulated"),
    ]

    operations = [
        migrations.AddField(
            model_name="simulation",
            name="change",
            field=models.CharField(blank=True, max_length=300),
        ),
    ]
