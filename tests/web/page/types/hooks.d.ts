type Effect = () => void | undefined | (() => unknown);
export function useCallback<T>(callback: T, inputs: unknown[]): T;
export function useEffect(effect: Effect, inputs?: unknown[]): void;
export function useLayoutEffect(effect: Effect, inputs?: unknown[]): void;
export function useMemo<T>(make: () => T, inputs: unknown[]): T;
export function useRef<T>(initial: T): { current: T };
export function useState<T>(initial: T | (() => T)): [T, (next: T | ((before: T) => T)) => void];
