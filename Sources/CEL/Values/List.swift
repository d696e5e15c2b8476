extension Value {
    /// A list: either an array of values or a list kept by the host and read element by element.
    public struct List: Sendable {
        enum Storage: Sendable {
            case array([Value], Shape)
            case host(any HostList)
        }

        let storage: Storage

        public init(_ elements: [Value]) { storage = .array(elements, Shape(of: elements)) }
        public init(_ host: any HostList) { storage = .host(host) }

        public var count: Int {
            switch storage {
            case .array(let elements, _): elements.count
            case .host(let list): max(0, list.count)
            }
        }

        var shape: Shape {
            switch storage {
            case .array(_, let shape): shape
            case .host(let list): Shape(weight: 1 + max(0, list.count), depth: 1)
            }
        }

        /// The element at an index that is within `0..<count`.
        public subscript(index: Int) -> Value {
            switch storage {
            case .array(let elements, _): elements[index]
            case .host(let list): list.element(at: index)
            }
        }

        /// The elements as an array; a list of the host is copied.
        public var elements: [Value] {
            switch storage {
            case .array(let elements, _): elements
            case .host(let list): (0..<max(0, list.count)).map { list.element(at: $0) }
            }
        }
    }
}

/// A list kept by the host: an element is converted only when it is read.
public protocol HostList: AnyObject, Sendable {
    var count: Int { get }
    /// The element at an index within `0..<count`.
    func element(at index: Int) -> Value
}
