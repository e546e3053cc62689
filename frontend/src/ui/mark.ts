/** Address of the site's mark; it lies where the bundle lies. */
export const MARK = `${import.meta.env.BASE_URL}hydra.svg`;
