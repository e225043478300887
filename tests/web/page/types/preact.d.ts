export type VNode = object;
export class Component {
  constructor(props?: any);
  props: any;
  [field: string]: any;
  forceUpdate(callback?: () => void): void;
}
export const Fragment: any;
export function h(type: any, props: any, ...children: any[]): VNode;
export function render(node: any, parent: Element): void;
