/** The last resort: a fault in a page is told, and the rest of the site can still be reached. */
import { Component, type ReactNode } from "react";

export class Boundary extends Component<{ children: ReactNode }, { fault: string | null }> {
  override state: { fault: string | null } = { fault: null };

  static getDerivedStateFromError(error: unknown): { fault: string } {
    return { fault: error instanceof Error ? error.message : String(error) };
  }

  override render(): ReactNode {
    if (this.state.fault === null) return this.props.children;
    return (
      <main className="main">
        <div className="notice bad" role="alert">
          <div className="grow">
            <strong>This page has a fault</strong>
            <div>Nothing of the cluster is affected. Reload it, or use hydractl; the fault is: {this.state.fault}</div>
            <a href={location.pathname}>Reload</a> · <a href="/">Overview</a>
          </div>
        </div>
      </main>
    );
  }
}
