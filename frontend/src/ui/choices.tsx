/** Some of a few words, each with a box. */

interface Props {
  label: string;
  all: readonly string[];
  chosen: string[];
  change: (chosen: string[]) => void;
  error?: string | undefined;
}

export function Choices({ label, all, chosen, change, error }: Props) {
  return (
    <fieldset className="choices">
      <legend>{label}</legend>
      <div className="row wrap">
        {all.map((word) => (
          <label key={word} className="row"><input type="checkbox" checked={chosen.includes(word)}
            onChange={(e) => change(e.currentTarget.checked ? [...chosen, word] : chosen.filter((each) => each !== word))} />{word}</label>
        ))}
      </div>
      {error && <div className="mantine-InputWrapper-error">{error}</div>}
    </fieldset>
  );
}
