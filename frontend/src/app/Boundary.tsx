/** The last resort: a fault in a page is told, and the rest of the site can still be reached. */
import { Component, type ReactNode } from "react";

/** A page's file that is gone: the site was updated since this tab loaded it. */
const GONE = /dynamically imported module|Importing a module script|Loading chunk/i;

export class Boundary extends Component<{ children: ReactNode }, { fault: string | null }> {
  override state: { fault: string | null } = { fault: null };

  static getDerivedStateFromError(error: unknown): { fault: string } {
    return { fault: error instanceof Error ? error.message : String(error) };
  }

  override render(): ReactNode {
    const { fault } = this.state;
    if (fault === null) return this.props.children;
    const gone = GONE.test(fault);
    return (
      <div className="notice bad" role="alert">
        <div className="grow">
          <strong>{gone ? "This page could not be loaded" : "This page has a fault"}</strong>
          <div>
            {gone ? "Hydra does not answer, or was updated since this tab was opened: reload it."
              : <>Nothing of the cluster is affected. Reload it, or use hydractl; the fault is: {fault}</>}
          </div>
          <a href={location.pathname + location.search}>Reload</a> · <a href="/">Overview</a>
        </div>
      </div>
    );
  }
}
