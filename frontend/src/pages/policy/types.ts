/** What the API says of the policy, by the names these pages have for it. */
import type { components } from "../../api/schema";

type Shapes = components["schemas"];

export type Json = Record<string, unknown>;
/** Keys and positions from the document down to one place in it. */
export type Path = (string | number)[];

export type Policy = Shapes["PolicyDetail"];
export type PolicyRow = Shapes["Policy"];
export type Change = Shapes["PolicyChange"];
export type Diff = Shapes["PolicyDiff"];

export type Plan = Shapes["PolicyPlan"];
export type PlanQueue = Shapes["PlanQueue"];
export type PlanSide = Shapes["PlanSide"];

export type Convergence = Shapes["Convergence"];
export type KindConvergence = Shapes["KindConvergence"];
export type Rollout = Shapes["Rollout"];
export type Stage = Shapes["Stage"];
export type Measures = Shapes["SideMeasures"];

/** The `policy` topic. */
export interface Spread {
  convergence: Convergence | null;
  rollout: Rollout | null;
}

export type Override = Shapes["PolicyOverride"];
export type OverrideRequest = Required<Shapes["OverrideRequest"]>;
export type ProposalRow = Shapes["Proposal"];
export type Proposal = Shapes["ProposalDetail"];
export type AuditEntry = Shapes["AuditEntry"];

export type Simulation = Shapes["Simulation"];
export type SimulationDetail = Shapes["SimulationDetail"];
export type SimulatedDrain = Shapes["SimulatedDrain"];
export type SimulationRequest = Shapes["SimulationRequest"];
export type SimulationResult = Shapes["SimulationResult"];
export type SimulationTrace = Shapes["SimulationTrace"];
export type Compared = Shapes["SimulatedComparedFigure"];
export type Estimate = Shapes["SimulatedEstimate"];
export type FigureAbout = Shapes["SimulatedFigure"];
