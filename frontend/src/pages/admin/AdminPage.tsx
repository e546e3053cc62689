/** Administration: is every part well, who may log in, who may join. Viewers read it. */
import type { PageProps } from "../../app/pages";
import { Empty } from "../../ui/parts";
import { Tabs } from "../../ui/tabs";
import { Accounts } from "./Accounts";
import "./admin.css";
import { Health } from "./Health";
import { Joining } from "./Joining";

const TABS = [
  { to: "/admin", name: "Health" },
  { to: "/admin/accounts", name: "Accounts" },
  { to: "/admin/joining", name: "Sub-clusters" },
];

export default function AdminPage({ me, rest }: PageProps) {
  return (
    <>
      <h1>Administration</h1>
      <Tabs tabs={TABS} here={rest ? `/admin/${rest}` : "/admin"} label="Administration" />
      {rest === "" ? <Health /> : rest === "accounts" ? <Accounts me={me} /> : rest === "joining" ? <Joining me={me} /> : <Empty title="There is no such page" />}
    </>
  );
}
