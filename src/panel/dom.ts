/** Elements without a framework. Text always goes in as text nodes: nothing that a host or a file says becomes markup. */
type Child = Node | string | null | undefined | false;
type Attributes = Readonly<Record<string, string | number | boolean | ((event: Event) => void) | null | undefined>>;

/**
 * `h('button.primary', { onclick: run, disabled: true }, 'Run')`. Functions become listeners, true an empty attribute,
 * false and null none.
 */
export function h(name: string, attributes: Attributes = {}, ...children: readonly Child[]): HTMLElement {
  const [tag = 'div', ...classes] = name.split('.');
  const element = document.createElement(tag);
  if (classes.length > 0) element.className = classes.join(' ');
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(key.replace(/^on/, ''), value);
    else if (value === true) element.setAttribute(key, '');
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, String(value));
  }
  element.append(...present(children));
  return element;
}

/** Replaces what is inside, leaving out absent children. */
export function fill(element: HTMLElement, ...children: readonly Child[]): void {
  element.replaceChildren(...present(children));
}

/** Sets the text only when it differs, so that a live region is not read out again. */
export function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** A length along an axis, as a custom property: the policy allows no inline style attribute, but this is the object model. */
export function setFraction(element: HTMLElement, name: string, fraction: number): void {
  element.style.setProperty(`--${name}`, `${(100 * fraction).toFixed(3)}%`);
}

function present(children: readonly Child[]): (Node | string)[] {
  return children.filter((child): child is Node | string => child !== null && child !== undefined && child !== false);
}
