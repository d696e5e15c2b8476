import BellhopCore

extension Delivery {
    /// The facts from which it was made, if a quiet time kept it back.
    var keptBack: KeptBack? { if case .quiet(let kept) = initial { kept } else { nil } }

    /// Whether a quiet time holds or drops it.
    var isQuiet: Bool {
        switch initial {
        case .quiet, .dropped: true
        case .available, .shadow, .done, .silenced, .dead: false
        }
    }
}
