/** Whether a text is a priority that a job may have. */
export function isPriority(text: string): boolean {
  return /^-?\d{1,3}$/.test(text.trim()) && Number(text) >= -500 && Number(text) <= 499;
}
