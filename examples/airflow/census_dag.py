"""A daily DAG whose first task is a Hydra job: put this folder and ``stdlib-census`` where Airflow looks for DAGs.

Airflow finds the cluster by the connection ``hydra_default``, for instance in the environment of its processes:

    AIRFLOW_CONN_HYDRA_DEFAULT=http://:TOKEN@127.0.0.1:8470

``python census_dag.py`` runs it once, here, without a scheduler, after ``pip install '.[airflow]'`` in a clone.
"""

from datetime import datetime

try:
    from airflow.sdk import dag, task
except ImportError:  # before Airflow 3
    from airflow.decorators import dag, task

from client.airflow import HydraOperator


@dag(schedule="@daily", start_date=datetime(2026, 1, 1), catchup=False, tags=["example"])  # noqa: DTZ001 - Airflow's UTC
def census() -> None:
    count = HydraOperator(task_id="count", job="../stdlib-census/job.yaml", retries=1)

    @task
    def tell(result: dict[str, object]) -> None:
        print(f"hydractl fetch {result['job_id']} report --stdout")

    tell(count.output)


run = census()

if __name__ == "__main__":
    run.test()
