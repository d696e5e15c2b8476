/// The type parameters inferred by the checker so far, and whether one type is assignable to another.
///
/// The rules are those of the language's reference checkers: a parameter takes the most general of the types it meets, `dyn`
/// matches everything, null matches objects, times, optionals and nullable types.
struct Inference {
    private var known: [String: CELType] = [:]
    private var made = 0

    mutating func fresh() -> CELType {
        made += 1
        return .parameter("%\(made)")
    }

    /// The types with their parameters replaced by new ones, the same for the same name.
    mutating func instantiate(_ types: [CELType]) -> [CELType] {
        var names: [String: CELType] = [:]
        func replace(_ type: CELType, _ inference: inout Inference) -> CELType {
            if case .parameter(let name) = type {
                if let there = names[name] { return there }
                let new = inference.fresh()
                names[name] = new
                return new
            }
            guard !type.parts.isEmpty else { return type }
            let parts = type.parts.map { replace($0, &inference) }
            var at = 0
            return type.replacingParts { _ in
                defer { at += 1 }
                return parts[at]
            }
        }
        return types.map { replace($0, &self) }
    }

    /// The type with its known parameters replaced; unknown ones stay, or become `dyn`.
    func resolve(_ type: CELType, unknownAsDyn: Bool = false) -> CELType {
        if case .parameter(let name) = type {
            guard let found = known[name] else { return unknownAsDyn ? .dyn : type }
            return resolve(found, unknownAsDyn: unknownAsDyn)
        }
        return type.replacingParts { resolve($0, unknownAsDyn: unknownAsDyn) }
    }

    /// Whether all actual types are assignable to the expected ones; parameters inferred on the way are kept only in that case.
    mutating func accepts(_ actual: [CELType], as expected: [CELType]) -> Bool {
        let before = known
        for (a, e) in zip(actual, expected) where !assign(a, to: e) {
            known = before
            return false
        }
        return true
    }

    mutating func accepts(_ actual: CELType, as expected: CELType) -> Bool { accepts([actual], as: [expected]) }

    /// The more general of two types, one of which is assignable to the other.
    func general(_ a: CELType, _ b: CELType) -> CELType { Self.isAtLeastAsGeneral(a, as: b) ? a : b }

    private mutating func assign(_ actual: CELType, to expected: CELType) -> Bool {
        if case .parameter(let name) = expected {
            switch substitute(actual, for: name) {
            case .valid: return true
            case .contradicts: return false
            case .refersToItself: break
            }
        }
        if case .parameter(let name) = actual { return substitute(expected, for: name) == .valid }
        switch (actual, expected) {
        case (.dyn, _), (_, .dyn): return true
        case (.null, .null): return true
        case (.null, let other), (let other, .null): return Self.takesNull(other)
        case (.nullable(let a), .nullable(let b)): return assign(a, to: b)
        case (.nullable(let inner), let other), (let other, .nullable(let inner)): return assign(inner, to: other)
        case (.type, .type): return true
        case (.list(let a), .list(let b)), (.optional(let a), .optional(let b)): return assign(a, to: b)
        case (.map(let ak, let av), .map(let bk, let bv)): return assign(ak, to: bk) && assign(av, to: bv)
        case (.opaque(let a, let ap), .opaque(let b, let bp)):
            guard a == b, ap.count == bp.count else { return false }
            for (x, y) in zip(ap, bp) where !assign(x, to: y) { return false }
            return true
        default: return actual == expected
        }
    }

    private enum Substitution { case valid, contradicts, refersToItself }

    private mutating func substitute(_ type: CELType, for name: String) -> Substitution {
        if type == .parameter(name) { return .valid }
        if let there = known[name] {
            if type == there { return .valid }
            guard assign(type, to: there) else { return .contradicts }
            let general = general(type, there)
            if !mentions(name, in: general) { known[name] = general }
            return .valid
        }
        if mentions(name, in: type) { return .refersToItself }
        known[name] = type
        return .valid
    }

    private func mentions(_ name: String, in type: CELType) -> Bool {
        if case .parameter(let other) = type {
            if other == name { return true }
            return known[other].map { mentions(name, in: $0) } ?? false
        }
        return type.parts.contains { mentions(name, in: $0) }
    }

    private static func takesNull(_ type: CELType) -> Bool {
        switch type {
        case .nullable, .object, .timestamp, .duration, .optional, .opaque: true
        default: false
        }
    }

    private static func isAtLeastAsGeneral(_ a: CELType, as b: CELType) -> Bool {
        switch (a, b) {
        case (.dyn, _), (.parameter, _): true
        case (_, .dyn), (_, .parameter): false
        case (.nullable(let x), .nullable(let y)): isAtLeastAsGeneral(x, as: y)
        case (.nullable(let x), let other): other == .null || isAtLeastAsGeneral(x, as: other)
        case (_, .nullable): false
        case (let other, .null): other == .null || takesNull(other)
        case (.list(let x), .list(let y)), (.optional(let x), .optional(let y)): isAtLeastAsGeneral(x, as: y)
        case (.map(let xk, let xv), .map(let yk, let yv)): isAtLeastAsGeneral(xk, as: yk) && isAtLeastAsGeneral(xv, as: yv)
        case (.opaque(let x, let xp), .opaque(let y, let yp)):
            x == y && xp.count == yp.count && zip(xp, yp).allSatisfy { isAtLeastAsGeneral($0, as: $1) }
        case (.type, .type): true
        default: a == b
        }
    }
}
