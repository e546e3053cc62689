/** Every page of the site: its address, its place in the navigation, who sees it. Routes and menus are made from this list. */
import { lazy, type ComponentType, type ReactNode } from "react";
import type { Me } from "../api/types";
import { JobPage } from "../pages/job/JobPage";
import { JobsPage } from "../pages/jobs/JobsPage";
import { OverviewPage } from "../pages/overview/OverviewPage";
import { Cells, ChartIcon, Clock, Gauge, ListIcon, Person, Plus, Scales, Shield, Tree } from "../ui/icons";

export type Role = Me["role"];

/** `rest`: what follows the page's own address, without slashes at its ends: "" or "42" or "nodes/7". */
export interface PageProps {
  me: Me;
  rest: string;
}

export interface PageEntry {
  /** Its address; everything below it belongs to the page as well. */
  to: string;
  name: string;
  icon: ReactNode;
  /** The key that leads here after `g`. */
  key: string;
  /** Words that find it in the palette as well. */
  words?: string;
  /** Without it: everybody. */
  roles?: Role[];
  /** Not in the navigation; something else leads there. */
  hidden?: true;
  /** `load`: fetch the page's code, which is not part of the first load. */
  page: ComponentType<PageProps> & { load?: () => Promise<unknown> };
}

/** A page whose code is loaded when it is visited. */
function visited(load: () => Promise<{ default: ComponentType<PageProps> }>): PageEntry["page"] {
  return Object.assign(lazy(load), { load });
}

const TerminalPage = lazy(() => import("../pages/job/terminal/TerminalPage"));

function JobPages({ me, rest }: PageProps) {
  const [id = "", what] = rest.split("/");
  if (what === "terminal") return <TerminalPage id={id} me={me} />;
  return rest ? <JobPage key={rest} id={rest} me={me} /> : <JobsPage me={me} />;
}

/** In the order of the navigation. What the first visit shows comes with the first load; every other page is loaded when visited. */
export const PAGES: PageEntry[] = [
  { to: "/", name: "Overview", icon: <Gauge />, key: "o", page: OverviewPage },
  { to: "/fleet", name: "Fleet", icon: <Cells />, key: "f", page: visited(() => import("../pages/fleet/FleetPage")) },
  { to: "/queues", name: "Queues", icon: <Tree />, key: "q", page: visited(() => import("../pages/queues/QueuesPage")) },
  { to: "/jobs", name: "Jobs", icon: <ListIcon />, key: "j", page: JobPages },
  { to: "/schedules", name: "Schedules", icon: <Clock />, key: "c", page: visited(() => import("../pages/schedules/SchedulesPage")) },
  { to: "/usage", name: "Usage", icon: <ChartIcon />, key: "u", page: visited(() => import("../pages/usage/UsagePage")) },
  { to: "/submit", name: "Submit", icon: <Plus />, key: "s", roles: ["operator", "tenant"], page: visited(() => import("../pages/submit/SubmitPage")) },
  { to: "/policy", name: "Policy", icon: <Scales />, key: "p", roles: ["operator", "viewer"], page: visited(() => import("../pages/policy/PolicyPage")) },
  { to: "/admin", name: "Administration", icon: <Shield />, key: "a", roles: ["operator", "viewer"], page: visited(() => import("../pages/admin/AdminPage")) },
  { to: "/account", name: "Your account", icon: <Person />, key: "y", words: "password tokens secrets receivers webhooks mail", hidden: true, page: visited(() => import("../pages/account/AccountPage")) },
];

export function pagesFor(role: Role): PageEntry[] {
  return PAGES.filter((page) => page.roles?.includes(role) ?? true);
}
