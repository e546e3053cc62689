from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("statestore", "0012_masters")]
    operations = [
        migrations.CreateModel(
            name="Endpoint",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("container_id", models.BigIntegerField()),
                ("job_id", models.BigIntegerField()),
                ("name", models.CharField(max_length=32)),
                ("host", models.CharField(max_length=255)),
                ("port", models.IntegerField()),
                ("healthy", models.BooleanField(null=True)),
                ("checked_at", models.DateTimeField()),
            ],
            options={
                "indexes": [models.Index(fields=["job_id"], name="endpoint_of_job")],
                "constraints": [
                    models.UniqueConstraint(fields=("container_id", "name"), name="endpoint_once"),
                ],
            },
        ),
    ]
