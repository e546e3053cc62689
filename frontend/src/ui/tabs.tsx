/** Views of one page, each with an address of its own. */
import { Link } from "wouter";

export interface Tab {
  to: string;
  name: string;
}

export function Tabs({ tabs, here, label }: { tabs: Tab[]; here: string; label: string }) {
  return (
    <nav className="tab-links" aria-label={label}>
      {tabs.map((tab) => <Link key={tab.to} href={tab.to} aria-current={tab.to === here ? "page" : undefined}>{tab.name}</Link>)}
    </nav>
  );
}
