/** What gives a tensor that shares the memory of another one. */

/** They give a view, some only where nothing must be copied; methods of tensors and functions of torch. */
export const VIEWS =
  /^(view|reshape|contiguous|(un)?squeeze|(un)?flatten|ravel|transpose|permute|swap(axes|dims)|move(dim|axis)|t|adjoint|expand|expand_as|broadcast_to|broadcast_tensors|view_as|view_as_real|view_as_complex|reshape_as|narrow|select|diagonal|unfold|as_strided|alias|split|split_with_sizes|tensor_split|[hvd]split|chunk|unbind|detach|to|float|double|half|bfloat16|type|type_as|cpu|cuda|pin_memory|numpy|conj|resolve_(conj|neg)|positive|requires_grad_|values|items|get|pop|copy|tolist|__getitem__|__iter__)$/;

export const VIEW_ATTRIBUTES = /^(data|T|mT|H|mH|real|imag)$/;
