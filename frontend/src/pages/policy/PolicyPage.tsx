/** The policy: written, looked at before, put in force in stages, followed, taken back. Operators do, viewers read. */
import "./policy.css";
import { lazy, Suspense, useState, type ComponentType } from "react";
import { Redirect, useLocation } from "wouter";
import { usePaletteCommands } from "../../app/palette/commands";
import type { PageProps } from "../../app/pages";
import { Shield } from "../../ui/icons";
import { Empty, Loading, Notice } from "../../ui/parts";
import { Tabs } from "../../ui/tabs";
import { Converging } from "./rollouts/Converging";
import { useSpread } from "./spread";

interface PartProps extends PageProps {
  /** What follows the part's own address. */
  id: string;
}

/** `reads`: its name for those who change nothing. */
const TABS: { to: string; name: string; reads?: string; tab: ComponentType<PartProps> }[] = [
  { to: "/policy/edit", name: "Edit", reads: "Document", tab: lazy(() => import("./edit/EditTab")) },
  { to: "/policy/rollouts", name: "Rollouts", tab: lazy(() => import("./rollouts/RolloutsTab")) },
  { to: "/policy/proposals", name: "Proposals", tab: lazy(() => import("./rollouts/ProposalsTab")) },
  { to: "/policy/simulations", name: "Simulations", tab: lazy(() => import("./whatif/SimulationsTab")) },
  { to: "/policy/history", name: "History", tab: lazy(() => import("./history/HistoryTab")) },
  { to: "/policy/overrides", name: "Overrides", tab: lazy(() => import("./history/OverridesTab")) },
  { to: "/policy/audit", name: "Audit", tab: lazy(() => import("./history/AuditTab")) },
];

export default function PolicyPage(props: PageProps) {
  const [first = "", id = ""] = props.rest.split("/");
  const spread = useSpread();
  const [search] = useState(location.search);
  const [, go] = useLocation();
  const tabs = TABS.map((tab) => ({ ...tab, name: (props.me.role !== "operator" && tab.reads) || tab.name }));
  usePaletteCommands(tabs.map((tab) => ({ name: `Policy: ${tab.name.toLowerCase()}`, words: "part of the policy", run: () => go(tab.to) })));
  if (!first) return <Redirect to={`/policy/edit${search}`} replace />;
  const found = tabs.find((tab) => tab.to === `/policy/${first}`);
  const Found = found?.tab;
  return (
    <>
      <div className="page-head policy-head">
        <h1>Policy</h1>
        <Converging spread={spread} />
      </div>
      <Tabs tabs={tabs} here={`/policy/${first}`} label="Parts of the policy" />
      {props.me.role !== "operator" && <Notice icon={<Shield />}>You read the policy and all that became of it. Only operators change it.</Notice>}
      <Suspense fallback={<Loading />}>
        {Found ? <Found {...props} id={id} /> : <Empty title="There is no such part">The policy has the parts above.</Empty>}
      </Suspense>
    </>
  );
}
