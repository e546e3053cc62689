from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("statestore", "0018_masters_away")]
    operations = [
        migrations.CreateModel(
            name="Starvation",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "queue", "partition", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("queue", models.CharField(max_length=255)),
                ("partition", models.CharField(max_length=63, blank=True)),
                ("since", models.DateTimeField()),
                ("seen_at", models.DateTimeField()),
            ],
        ),
        migrations.AddIndex("usagehour", models.Index(fields=["owner_id", "hour"], name="usage_by_owner")),
    ]
